// Which colour a value has, as vizkit/figure/scales.py says it, whose record `scale` is. Joined behind short.js.

const positionOf = (scale, value) => {                 // 0 to 1 along the bar, and beyond
  if (scale.kind === 'linear') return (value - scale.low) / (scale.top - scale.low || 1)
  const times = value / (scale.equal || 1)
  return scale.signed ? 0.5 + 0.5 * Math.sign(times) * Math.log2(1 + Math.abs(times)) / Math.log2(1 + scale.top)
    : Math.log2(Math.max(times, 1e-12) / scale.low) / Math.log2(scale.top / scale.low)
}
const levelOf = (scale, value) => Math.round(255 * clamp(positionOf(scale, value), 0, 1))
const scaleOf = (scale, values, places, own) => {      // with what depends on the map; `own`: the place that asks
  if (scale.kind !== 'linear') return { ...scale, equal: scale.equal ?? values.reduce((sum, value) => sum + (scale.signed ? Math.abs(value) : value), 0) / (places || values.length || 1) }
  const top = scale.top ?? (values.reduce((most, value, at) => at === own ? most : Math.max(most, value), 0) || 1)
  return { ...scale, top, ticks: scale.ticks.map(([at, text]) => [at, at === 1 && scale.top === null ? valueText(top, scale.unit) : text]) }
}
const opacityOf = (scale, level, floor, ceiling) => {
  const least = scale.signed && ceiling < 1 ? 0 : floor  // white at zero would only veil the picture
  return least + (ceiling - least) * (scale.signed ? Math.abs(level / 127.5 - 1) : level / 255)
}
const painted = (scale, values, [rows, columns], table, floor = 1, ceiling = 1) => {   // one pixel for each place
  const map = new OffscreenCanvas(columns, rows), inside = map.getContext('2d'), picture = inside.createImageData(columns, rows)
  for (let i = 0; i < rows * columns; i++) {
    const level = levelOf(scale, values[i])
    picture.data.set([table[3 * level], table[3 * level + 1], table[3 * level + 2], 255 * opacityOf(scale, level, floor, ceiling)], 4 * i)
  }
  inside.putImageData(picture, 0, 0)
  return map
}
const dim = (pen, [x, y, width, height], strength = 1) => {   // the picture under a map: grey, and darker
  pen.save()
  pen.globalAlpha = strength
  pen.globalCompositeOperation = 'saturation'; pen.fillStyle = '#000'; pen.fillRect(x, y, width, height)
  pen.globalCompositeOperation = 'source-over'; pen.globalAlpha = strength * 0.45; pen.fillStyle = '#282828'; pen.fillRect(x, y, width, height)
  pen.restore()
}
const rampOf = (table, direction = '90deg') => `linear-gradient(${direction}, ${Array.from({ length: 17 }, (_, i) => Math.min(255, 16 * i))
  .map(level => `rgb(${table.slice(3 * level, 3 * level + 3).join(' ')})`).join(', ')})`
const showBar = ([low, bar, top], scale, table) => {   // <span></span><i></i><span></span>: the ends, and between them the rest
  const ticks = scale.ticks
  low.textContent = ticks[0][1]; top.textContent = ticks[ticks.length - 1][1]
  bar.style.background = rampOf(table)
  bar.title = scale.said
  bar.replaceChildren(...ticks.slice(1, -1).map(([at, text]) => {
    const mark = document.createElement('b')
    mark.textContent = text; mark.style.left = 100 * at + '%'
    return mark
  }))
}
const valueText = (value, unit) => {
  if (unit === '%') return percent(value)
  const size = Math.abs(value), text = size && (size < 0.001 || size >= 10000) ? value.toExponential(1) : String(Number(value.toPrecision(3)))
  return text.replace('-', '−') + (unit && ' ' + unit)
}
const wordsOf = (scale, value) => {                    // a value of a map, as it is read
  if (scale.kind === 'linear') return valueText(value, scale.unit)
  const times = valueText(value / (scale.equal || 1), '×')
  return scale.unit === '%' ? `${percent(value)}, ${times}` : times
}
