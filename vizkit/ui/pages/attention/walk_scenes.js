// The pictures of the steps. A scene draws step progress `t`, 0 to 1, of query and key `j` in a box of `wide` × `tall` CSS pixels;
// it may add to `at.hits` what can be clicked, and gives what its colours go to: [lowest, highest, whether signed].

const KEY = '#f97316', DARK = '#0b0d19'
const part = (t, from, to) => clamp((t - from) / (to - from), 0, 1)
const blend = (a, b, t) => a + (b - a) * t

function scenesOf(row, at) {
  const { pen, wide, tall, ink, font } = at
  const write = (text, x, y, size = 13, options = {}) => {
    pen.font = `${options.bold ? 600 : 400} ${size}px ${font}`
    pen.textAlign = options.align || 'left'; pen.textBaseline = 'middle'; pen.fillStyle = options.colour || ink
    pen.fillText(text, x, y, options.room || wide)
  }
  const signed = (value, limit) => at.shade(at.signed, 127.5 + 127.5 * clamp(value / limit, -1, 1))
  const outline = (x, y, w, h, colour, line = 2.5) => {
    for (const [stroke, width] of [[DARK, line + 2], [colour, line]]) { pen.strokeStyle = stroke; pen.lineWidth = width; pen.strokeRect(x, y, w, h) }
  }
  const strip = (values, x, y, w, h, { limit = largest(values), shown = values.length, digits = true } = {}) => {
    const n = values.length, cell = w / n
    pen.fillStyle = at.faint; pen.fillRect(x, y, w, h)
    for (let c = 0; c < Math.min(n, Math.ceil(shown)); c++) {
      pen.fillStyle = signed(values[c], limit); pen.fillRect(x + c * cell, y, cell + (cell < 3 ? 0.4 : -0.6), h)
      if (digits && cell >= 30 && h >= 18) write(number(values[c], 2), x + (c + 0.5) * cell, y + h / 2, 10.5, { align: 'center', colour: Math.abs(values[c]) > 0.62 * limit ? '#fff' : DARK })
    }
  }
  const thumb = (id, x, y, side, colour) => {
    at.patch(pen, id, x, y, side, row)
    outline(x, y, side, side, colour)
  }
  const listed = values => Array.from(values.slice(0, wide > 480 ? 7 : 4), value => number(value, 2)).join('  ') + (values.length > 7 ? '  …' : '')
  const arrow = (x, y0, y1) => {
    pen.strokeStyle = ink; pen.lineWidth = 1.5; pen.beginPath(); pen.moveTo(x, y0); pen.lineTo(x, y1)
    pen.moveTo(x - 5, y1 - 6); pen.lineTo(x, y1); pen.lineTo(x + 5, y1 - 6); pen.stroke()
  }
  const own = ['−max', 'max', true]

  const patch = (j, t) => {
    const side = Math.min(150, wide * 0.4), x = (wide - side) / 2
    thumb(row.data.query_id, x, 8, side, '#fff')
    if (!row.arriving) return null
    arrow(wide / 2, side + 20, side + 52)
    write(`x  ·  ${row.arriving.length} numbers`, 0, side + 68, 13, { bold: true })
    strip(row.arriving, 0, side + 84, wide, 54, { shown: t * row.arriving.length })
    if (t === 1) write(listed(row.arriving), 0, side + 158)
    return own
  }
  const vectors = (j, t) => {
    const key = row.key.subarray(j * row.d, (j + 1) * row.d), side = 72
    for (const [i, name, id, values, colour] of [[0, 'q', row.data.query_id, row.query, '#fff'], [1, 'k', row.ids[j], key, KEY]]) {
      const y = 24 + i * 180, x = side + 22, shown = part(t, 0.5 * i, 0.5 * i + 0.5) * row.d
      write(`${name}  ·  ${i ? `key, ${row.name(id)}` : `query, ${row.data.query_name}`}`, 0, y - 6, 13, { bold: true })
      thumb(id, 2, y + 12, side, colour)
      strip(values, x, y + 12, wide - x, side, { shown })
      if (shown === row.d) write(listed(values), x, y + side + 32)
    }
    return own
  }
  const score = (j, t) => {
    const key = row.key.subarray(j * row.d, (j + 1) * row.d), products = row.products(j)
    const left = 34, w = wide - left, cell = w / row.d, done = Math.round(t * row.d), now = Math.max(0, done - 1)
    const rows = [['q', row.query, row.d], ['k', key, row.d], ['q k', products, done]]
    rows.forEach(([name, values, shown], i) => {
      write(name, 0, 26 + i * 50, 13, { bold: true })
      strip(values, left, 6 + i * 50, w, 40, { shown })
    })
    if (t < 1 && done) outline(left + now * cell, 4, Math.max(cell, 2), 144, KEY, 1.5)
    const sums = [0]
    products.forEach(product => sums.push(sums.at(-1) + product))
    const low = Math.min(...sums), high = Math.max(...sums), top = 218, bottom = tall - 14
    const y = value => bottom - (value - low) / (high - low || 1) * (bottom - top)
    pen.strokeStyle = at.line; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(left, y(0)); pen.lineTo(wide, y(0)); pen.stroke()
    write('0', left - 8, y(0), 11, { align: 'right' })
    pen.strokeStyle = KEY; pen.lineWidth = 2; pen.beginPath(); pen.moveTo(left, y(0))
    for (let c = 1; c <= done; c++) pen.lineTo(left + (c - 0.5) * cell, y(sums[c]))
    pen.stroke()
    pen.fillStyle = KEY; pen.beginPath(); pen.arc(left + Math.max(0, done - 0.5) * cell, y(sums[done]), 4.5, 0, 7); pen.fill()
    const text = t < 1 ? `${number(row.query[now], 2)} × ${number(key[now], 2)} = ${number(products[now], 2)}` : 'q · k'
    write(t < 1 ? `channel ${now + 1} of ${row.d}:  ${text}` : `all ${row.d} channels`, left, 172, 13)
    write(`Σ = ${number(sums[done])}`, wide, 194, 20, { bold: true, align: 'right' })
    at.said.sum = sums[done]
    return own
  }

  // Scaling, bias and mask, softmax: the row as a map of the keys, and its keys on an axis.
  const beside = wide > 520, left = beside ? wide * 0.5 : 8   // a narrow canvas has the axis below the map
  const map = (colour, j) => {
    const [rows, columns] = row.size, top = 36, room = beside ? [tall - top - 8, wide * 0.44] : [tall * 0.46, wide]
    const cell = Math.max(2, Math.min(44, room[0] / rows, room[1] / columns)), x0 = beside ? 2 : (wide - cell * columns) / 2
    const box = k => [x0 + row.spots[k][1] * cell, top + row.spots[k][0] * cell, cell, cell]
    for (let k = 0; k < row.count; k++) {
      const [x, y] = box(k), inner = cell - (cell > 6 ? 1 : 0)
      pen.fillStyle = colour(k); pen.fillRect(x, y, inner, inner)
      if (row.ids[k] < row.data.key_special.length && cell >= 10) write(row.ids[k] < 0 ? '–' : row.data.key_special[row.ids[k]][0], x + cell / 2, y + cell / 2, 10, { align: 'center', colour: '#fff' })
      at.hits.push([x, y, cell, cell, k])
    }
    const self = row.position.get(row.data.query_id)
    if (self !== undefined && row.data.same) outline(...box(self), '#fff', 1.5)
    outline(...box(j), KEY, 2)
    return beside ? 60 : top + rows * cell + 14
  }
  const axis = (values, heights, j, low, high, top, name, curve) => {
    const bottom = tall - 38, x = value => left + (clamp(value, low, high) - low) / (high - low || 1) * (wide - left - 10)
    pen.strokeStyle = at.line; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(left - 8, bottom); pen.lineTo(wide, bottom); pen.stroke()
    for (const [value, align] of [[low, 'left'], [high, 'right']]) write(number(value, 2), align === 'left' ? left - 8 : wide, bottom + 14, 11, { align })
    write(name, (left + wide) / 2, bottom + 30, 11, { align: 'center' })
    if (curve) {
      pen.strokeStyle = at.line; pen.lineWidth = 1.5; pen.beginPath()
      for (let i = 0; i <= 60; i++) { const value = blend(low, high, i / 60); pen.lineTo(x(value), bottom - curve(value) * (bottom - top)) }
      pen.stroke()
    }
    const dot = (k, r, colour) => {
      const spot = [x(values[k]), bottom - heights(k) * (bottom - top)]
      pen.fillStyle = colour; pen.beginPath(); pen.arc(...spot, r, 0, 7); pen.fill()
      at.hits.push([spot[0] - 5, spot[1] - 5, 10, 10, k])
    }
    for (let k = 0; k < row.count; k++) if (k !== j) dot(k, 3, row.masked[k] && at.step >= 4 ? at.line : at.dots)
    dot(j, 6.5, DARK); dot(j, 5, KEY)
  }
  const bounds = (...lists) => lists.flatMap(list => Array.from(list).filter((value, k) => !row.masked[k] && Number.isFinite(value)))
    .reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [0, 0])
  const moved = (from, to, j, t, equation, name) => {
    const limits = bounds(from, to)
    const values = from.map((value, k) => !Number.isFinite(to[k]) ? (t > 0 ? limits[0] : value) : blend(value, to[k], t))
    write(equation, wide / 2, 12, 17, { bold: true, align: 'center' })
    const hidden = k => row.masked[k] && at.step === 4 && t > 0.5, limit = largest(bounds(values))
    const end = map(k => hidden(k) ? at.line : signed(values[k], limit), j)
    axis(values, k => 0.1 + 0.8 * (k * 0.618 % 1), j, ...limits, end, name)   // spread in height, so that equal scores can be seen
    return [number(-limit, 2), number(limit, 2), true]
  }
  const scale = (j, t) => moved(row.scores, row.scaled, j, t, usual(row) ? `${number(row.scores[j])} ÷ √${row.d} = ${number(row.scaled[j])}`
    : `${number(row.scores[j])} × ${number(row.data.scale)} = ${number(row.scaled[j])}`, 'scores of all keys')
  const add = (j, t) => moved(row.scaled, row.biased, j, t,
    `${number(row.scaled[j])} ${row.bias[j] < 0 ? '−' : '+'} ${number(Math.abs(row.bias[j]))} = ${number(row.biased[j])}`, 'scores of all keys; masked ones leave to the left')
  const softmax = (j, t) => {
    const top = row.weights[row.order[0]], limits = bounds(row.biased), lifted = part(t, 0, 0.7)
    write(`exp(${number(row.biased[j], 2)}) ÷ Σ exp = ${percent(row.weights[j])}`, wide / 2, 12, 17, { bold: true, align: 'center' })
    const end = map(k => at.shade(at.scale, 255 * lifted * row.weights[k] / top), j)
    axis(row.biased, k => lifted * row.weights[k] / top, j, ...limits, end, 'score; height: exp(score) ÷ Σ exp',
      value => lifted * Math.exp(value - row.most) / row.sum / top)
    return ['0', percent(top), false]
  }

  const values = (j, t) => {
    const chosen = row.order.slice(0, 5)
    if (!chosen.includes(j)) chosen[chosen.length - 1] = j
    const others = row.order.filter(k => !chosen.includes(k)), steps = chosen.length + (others.length ? 1 : 0)
    const given = keys => Float64Array.from({ length: row.width }, (_, c) => keys.reduce((sum, k) => sum + row.given(k, c), 0))
    const limit = largest(row.mixed), left = 104, w = wide - left, step = Math.min(48, (tall - 92) / steps), side = step - 10
    const count = Math.round(t * steps), reached = Float64Array.from({ length: row.width }, () => 0)
    for (let i = 0; i < steps; i++) {
      const keys = i < chosen.length ? [chosen[i]] : others, k = keys[0], y = 4 + i * step
      const weight = keys.reduce((sum, key) => sum + row.weights[key], 0), vector = given(keys)
      if (i < chosen.length) { thumb(row.ids[k], 2, y, side, k === j ? KEY : at.line); at.hits.push([0, y, wide, step, k]) }
      else write(`${others.length} more`, 2, y + side / 2, 11)
      write(percent(weight), left - 8, y + side / 2, 12, { align: 'right', bold: k === j && i < chosen.length })
      strip(vector, left, y, w, side, { limit, shown: i < count ? row.width : 0 })
      if (i < count) vector.forEach((value, c) => { reached[c] += value })
    }
    const y = 4 + steps * step + 8
    pen.strokeStyle = at.line; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(0, y - 8); pen.lineTo(wide, y - 8); pen.stroke()
    write('Σ  =  o', left - 8, y + 22, 14, { align: 'right', bold: true })
    strip(reached, left, y + 2, w, 40, { limit })
    if (t === 1) write(listed(row.mixed), left, y + 58)
    return [number(-limit, 2), number(limit, 2), true]
  }
  const heads = (j, t) => {
    const n = row.data.heads, joined = row.joined, w = wide / n, x = row.data.head * w, limit = largest(joined), y = 220
    const move = part(t, 0, 0.5), from = wide * 0.2, size = blend(wide * 0.6, w, move)
    write(`o of head ${row.data.head + 1}  ·  ${row.mixed.length} numbers`, 0, 16, 13, { bold: true })
    strip(joined, 0, y, wide, 56, { limit, shown: 0 })
    strip(row.mixed, from, 44, wide * 0.6, 56, { limit })
    for (let h = 0; h < n; h++) {
      if (part(t, 0.5, 1) * n < h + 1 && h !== row.data.head) continue
      if (h !== row.data.head) strip(joined.slice(h * row.width, (h + 1) * row.width), h * w, y, w, 56, { limit })
    }
    strip(row.mixed, blend(from, x, move), blend(44, y, move), size, 56, { limit })
    outline(blend(from, x, move), blend(44, y, move), size, 56, KEY, 2)
    for (let h = 0; h < n; h++) if (w > 18) write(w > 58 ? `head ${h + 1}` : h + 1, (h + 0.5) * w, y + 72, 11, { align: 'center' })
    write(`z  ·  ${joined.length} numbers`, 0, y - 18, 13, { bold: true })
    return [number(-limit, 2), number(limit, 2), true]
  }
  const project = (j, t) => {
    const z = row.entering || row.joined, y = row.projected, done = Math.round(t * y.length), now = Math.max(0, done - 1), top = 90, bottom = 250
    write(`z  ·  ${z.length} numbers${row.entering ? ', normalised or gated' : ''}`, 0, 16, 13, { bold: true })
    strip(z, 0, 34, wide, 54)
    if (t < 1) {
      pen.strokeStyle = at.line; pen.lineWidth = 0.8; pen.beginPath()
      for (let i = 0; i < 40; i++) { pen.moveTo((i + 0.5) / 40 * wide, top); pen.lineTo((now + 0.5) / y.length * wide, bottom) }
      pen.stroke()
    } else write('W_O  ↓  every number from all above', wide / 2, 170, 13, { align: 'center' })
    strip(y, 0, bottom + 2, wide, 54, { shown: done })
    write(t < 1 ? `number ${now + 1} of ${y.length}: ${number(y[now])}` : `y  ·  ${y.length} numbers:  ${listed(y)}`, 0, bottom + 76, 13, { bold: t === 1 })
    return own
  }
  const residual = (j, t) => {
    const limit = Math.max(...[row.before, row.branch, row.after].map(largest))
    for (const [i, name, values] of [[0, 'x, what went past the layer', row.before], [1, '+  y, what the layer adds', row.branch], [2, '=  x + y, what the next part of the block gets', row.after]]) {
      write(name, 0, 16 + i * 112, 13, { bold: true })
      strip(values, 0, 32 + i * 112, wide, 50, { limit, shown: (i === 0 ? 1 : part(t, i === 1 ? 0 : 0.5, i === 1 ? 0.4 : 1)) * values.length })
    }
    return [number(-limit, 2), number(limit, 2), true]
  }
  return [patch, vectors, score, scale, add, softmax, values, heads, project, residual]
}
