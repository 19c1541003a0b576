// The pictures of the steps. A scene draws step progress `t`, 0 to 1, of query and key `j` in a box of `wide` × `tall` CSS pixels;
// it may add to `at.hits` what can be clicked and to `at.cells` what says where it comes from, and gives what its colours go to:
// a scale (scales.js).

const KEY = '#f97316', DARK = '#0b0d19'
const part = (t, from, to) => clamp((t - from) / (to - from), 0, 1)
const blend = (a, b, t) => a + (b - a) * t
const low = text => String(text).replace(/\d/g, digit => '₀₁₂₃₄₅₆₇₈₉'[digit])

function scenesOf(row, at) {
  const { pen, wide, tall, ink, font } = at
  const write = (text, x, y, size = 13, options = {}) => {
    pen.font = `${options.bold ? 600 : 400} ${size}px ${font}`
    pen.textAlign = options.align || 'left'; pen.textBaseline = 'middle'; pen.fillStyle = options.colour || ink
    pen.fillText(text, x, y, options.room || wide)
  }
  const around = limit => ({ kind: 'linear', low: -limit, top: limit, signed: true, ticks: [[0, number(-limit, 2)], [0.5, '0'], [1, number(limit, 2)]], said: '' })
  const signed = (value, limit) => at.shade(at.signed, levelOf(around(limit), value))
  const outline = (x, y, w, h, colour, line = 2.5) => {
    for (const [stroke, width] of [[DARK, line + 2], [colour, line]]) { pen.strokeStyle = stroke; pen.lineWidth = width; pen.strokeRect(x, y, w, h) }
  }
  // Numbers as cells, `columns` in a row. `says`: of number c in words; `from`: the cells that it was made of, and tokens.
  const strip = (values, x, y, w, h, { limit = largest(values), shown = values.length, columns = values.length, says, from = () => [] } = {}) => {
    const rows = Math.ceil(values.length / columns), cell = w / columns, deep = h / rows
    const box = c => [x + c % columns * cell, y + Math.floor(c / columns) * deep, cell, deep]
    pen.fillStyle = at.faint; pen.fillRect(x, y, w, h)
    for (let c = 0; c < Math.min(values.length, Math.ceil(shown)); c++) {
      const [left, top] = box(c)
      pen.fillStyle = signed(values[c], limit); pen.fillRect(left, top, cell + (cell < 3 ? 0.4 : -0.6), deep - (rows > 1 ? 0.6 : 0))
      if (cell >= 27 && deep >= 15) write(number(values[c], cell < 34 ? 1 : 2), left + cell / 2, top + deep / 2, 10.5, { align: 'center', colour: Math.abs(values[c]) > 0.62 * limit ? '#fff' : DARK })
    }
    if (says) at.cells.push({ x, y, w, h, box, says, from, at: (px, py) => {
      const c = Math.floor((py - y) / deep) * columns + Math.floor((px - x) / cell)
      return c < Math.min(values.length, Math.ceil(shown)) ? c : -1
    } })
    return box
  }
  const thumb = (id, x, y, side, colour) => {
    at.patch(pen, id, x, y, side, row)
    outline(x, y, side, side, colour)
  }
  const ends = around
  const { query_id: asks, query_name: asker } = row.data
  const key = j => row.key.subarray(j * row.d, (j + 1) * row.d)

  const patch = (j, t) => {
    const side = Math.min(150, wide * 0.26), middle = tall / 2
    thumb(asks, 2, middle - side / 2, side, '#fff')
    if (!row.arriving) return null
    const x = side + 52, w = wide - x, n = row.arriving.length
    pen.strokeStyle = ink; pen.lineWidth = 1.5; pen.beginPath(); pen.moveTo(side + 12, middle); pen.lineTo(x - 10, middle)
    pen.moveTo(x - 16, middle - 5); pen.lineTo(x - 10, middle); pen.lineTo(x - 16, middle + 5); pen.stroke()
    write(`x  ·  ${n} numbers`, x, 12, 13, { bold: true })
    const columns = [8, 12, 16, 24, 32, 48].find(count => n % count === 0 && n / count <= tall / 17) || Math.ceil(Math.sqrt(n * 2))
    strip(row.arriving, x, 26, w, tall - 30, { shown: t * n, columns,
      says: c => `x${low(c + 1)} = ${number(row.arriving[c])}: number ${c + 1} of the vector that ${asker} has become when it enters this layer`, from: () => [asks] })
    return ends(largest(row.arriving))
  }
  const vectors = (j, t) => {
    const limit = largest([...row.query, ...key(j)]), half = tall / 2, side = Math.min(96, half - 40)
    for (const [i, name, id, values, colour] of [[0, 'q', asks, row.query, '#fff'], [1, 'k', row.ids[j], key(j), KEY]]) {
      const y = i * half, x = side + 22, matrix = i ? 'W_K' : 'W_Q'
      write(`${name}  ·  ${i ? `key, ${row.name(id)}` : `query, ${asker}`}`, 0, y + 12, 13, { bold: true })
      thumb(id, 2, y + 28, side, colour)
      strip(values, x, y + 26, wide - x, half - 36, { limit, shown: part(t, 0.5 * i, 0.5 * i + 0.5) * row.d, columns: Math.min(row.d, 16),
        says: c => `${name}${low(c + 1)} = ${number(values[c])}: row ${c + 1} of ${matrix} times the vector x of ${i ? row.name(id) : asker}`, from: () => [id] })
    }
    return ends(limit)
  }
  const score = (j, t) => {
    const products = row.products(j), limit = largest([...row.query, ...key(j), ...products])
    const left = 34, w = wide - left, cell = w / row.d, done = Math.round(t * row.d), now = Math.max(0, done - 1), boxes = []
    const rows = [
      ['q', row.query, row.d, c => `q${low(c + 1)} = ${number(row.query[c])}, from step 2: the query's number in channel ${c + 1}`, () => [asks]],
      ['k', key(j), row.d, c => `k${low(c + 1)} = ${number(key(j)[c])}, from step 2: the key's number in channel ${c + 1}`, () => [row.ids[j]]],
      ['q k', products, done, c => `q${low(c + 1)} × k${low(c + 1)} = ${number(row.query[c])} × ${number(key(j)[c])} = ${number(products[c])}`, c => [boxes[0](c), boxes[1](c)]]]
    rows.forEach(([name, values, shown, says, from], i) => {
      write(name, 0, 22 + i * 44, 13, { bold: true })
      boxes.push(strip(values, left, 4 + i * 44, w, 36, { limit, shown, says, from }))
    })
    if (t < 1 && done) outline(left + now * cell, 2, Math.max(cell, 2), 130, KEY, 1.5)
    const sums = [0]
    products.forEach(product => sums.push(sums.at(-1) + product))
    const lowest = Math.min(...sums), high = Math.max(...sums), top = 172, bottom = tall - 10
    const y = value => bottom - (value - lowest) / (high - lowest || 1) * (bottom - top)
    pen.strokeStyle = at.line; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(left, y(0)); pen.lineTo(wide, y(0)); pen.stroke()
    write('0', left - 8, y(0), 11, { align: 'right' })
    pen.strokeStyle = KEY; pen.lineWidth = 2; pen.beginPath(); pen.moveTo(left, y(0))
    for (let c = 1; c <= done; c++) pen.lineTo(left + (c - 0.5) * cell, y(sums[c]))
    pen.stroke()
    pen.fillStyle = KEY; pen.beginPath(); pen.arc(left + Math.max(0, done - 0.5) * cell, y(sums[done]), 4.5, 0, 7); pen.fill()
    const text = `channel ${now + 1} of ${row.d}:  ${number(row.query[now], 2)} × ${number(key(j)[now], 2)} = ${number(products[now], 2)}`
    write(t < 1 ? text : `the sum so far, channel by channel, of all ${row.d}`, left, 150, 13)
    write(`Σ = ${number(sums[done])}`, wide, 150, 20, { bold: true, align: 'right' })
    at.cells.push({ x: left, y: top - 6, w, h: bottom - top + 12, box: c => [left + c * cell, top - 6, cell, bottom - top + 12], at: px => clamp(Math.floor((px - left) / cell), 0, done - 1),
      says: c => `after ${c + 1} of ${row.d} channels: ${number(sums[c])} + ${number(products[c])} = ${number(sums[c + 1])}`, from: c => [boxes[2](c)] })
    at.said.sum = sums[done]
    return ends(limit)
  }

  // Scaling, bias and mask, softmax: the row as a map of the keys, and its keys on an axis.
  const beside = wide > 520, left = beside ? wide * 0.5 : 8   // a narrow canvas has the axis alone
  const spots = []
  const map = (colour, j, says) => {
    if (!beside) return 50                             // the image above shows it
    const [rows, columns] = row.size, top = 30, cell = Math.max(2, Math.min(44, (tall - top - 8) / rows, wide * 0.44 / columns)), x0 = 2
    const box = k => [x0 + row.spots[k][1] * cell, top + row.spots[k][0] * cell, cell, cell]
    for (let k = 0; k < row.count; k++) {
      const [x, y] = box(k), inner = cell - (cell > 6 ? 1 : 0)
      pen.fillStyle = colour(k); pen.fillRect(x, y, inner, inner)
      if (row.ids[k] < row.data.key_special.length && cell >= 10) write(row.ids[k] < 0 ? '–' : `[${row.data.key_special[row.ids[k]]}]`, x + cell + 2, y + cell / 2, 11)
      at.hits.push([x, y, cell, cell, k])
    }
    const found = (x, y) => row.spots.findIndex((_, k) => { const [l, u] = box(k); return x >= l && x < l + cell && y >= u && y < u + cell })
    at.cells.push({ x: x0, y: top, w: columns * cell, h: rows * cell, box, says, from: k => [row.ids[k], spots[k]], at: found })
    const self = row.position.get(row.data.query_id)
    if (self !== undefined && row.data.same) outline(...box(self), '#fff', 1.5)
    outline(...box(j), KEY, 2)
    return 50
  }
  const axis = (values, heights, j, lowest, high, top, name, says, curve) => {
    const bottom = tall - 36, x = value => left + (clamp(value, lowest, high) - lowest) / (high - lowest || 1) * (wide - left - 10)
    pen.strokeStyle = at.line; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(left - 8, bottom); pen.lineTo(wide, bottom); pen.stroke()
    for (const [value, align] of [[lowest, 'left'], [high, 'right']]) write(number(value, 2), align === 'left' ? left - 8 : wide, bottom + 13, 11, { align })
    write(name, (left + wide) / 2, bottom + 28, 11, { align: 'center' })
    if (curve) {
      pen.strokeStyle = at.line; pen.lineWidth = 1.5; pen.beginPath()
      for (let i = 0; i <= 60; i++) { const value = blend(lowest, high, i / 60); pen.lineTo(x(value), bottom - curve(value) * (bottom - top)) }
      pen.stroke()
    }
    const dot = (k, r, colour) => {
      const spot = [x(values[k]), bottom - heights(k) * (bottom - top)]
      pen.fillStyle = colour; pen.beginPath(); pen.arc(...spot, r, 0, 7); pen.fill()
      spots[k] = [spot[0] - 6, spot[1] - 6, 12, 12]
      at.hits.push([...spots[k], k])
    }
    for (let k = 0; k < row.count; k++) if (k !== j) dot(k, 3, row.masked[k] && at.step >= 4 ? at.line : at.dots)
    dot(j, 6.5, DARK); dot(j, 5, KEY)
    at.cells.push({ x: left - 8, y: top - 8, w: wide - left + 8, h: bottom - top + 16, box: k => spots[k], says, from: k => [row.ids[k]],
      at: (px, py) => spots.findIndex(([l, u, w, h]) => px >= l && px < l + w && py >= u && py < u + h) })
  }
  const bounds = (...lists) => lists.flatMap(list => Array.from(list).filter((value, k) => !row.masked[k] && Number.isFinite(value)))
    .reduce(([lowest, high], value) => [Math.min(lowest, value), Math.max(high, value)], [0, 0])
  const moved = (from, to, j, t, equation, name) => {
    const limits = bounds(from, to)
    const values = from.map((value, k) => !Number.isFinite(to[k]) ? (t > 0 ? limits[0] : value) : blend(value, to[k], t))
    write(equation(j), wide / 2, 12, 16, { bold: true, align: 'center' })
    const hidden = k => row.masked[k] && at.step === 4 && t > 0.5, limit = largest(bounds(values)), says = k => `${row.name(row.ids[k])}: ${equation(k)}`
    const end = map(k => hidden(k) ? at.line : signed(values[k], limit), j, says)
    axis(values, k => 0.1 + 0.8 * (k * 0.618 % 1), j, ...limits, end, name, says)   // spread in height, so that equal scores can be seen
    return ends(limit)
  }
  const scale = (j, t) => moved(row.scores, row.scaled, j, t, k => usual(row) ? `${number(row.scores[k])} ÷ √${row.d} = ${number(row.scaled[k])}`
    : `${number(row.scores[k])} × ${number(row.data.scale)} = ${number(row.scaled[k])}`, 'scores of all keys')
  const add = (j, t) => moved(row.scaled, row.biased, j, t,
    k => `${number(row.scaled[k])} ${row.bias[k] < 0 ? '−' : '+'} ${number(Math.abs(row.bias[k]))} = ${number(row.biased[k])}`, 'scores of all keys; masked ones leave to the left')
  const softmax = (j, t) => {
    const top = row.weights[row.order[0]], limits = bounds(row.biased), lifted = part(t, 0, 0.7)
    const equation = k => `exp(${number(row.biased[k], 2)}) ÷ Σ exp = ${percent(row.weights[k])}`, says = k => `${row.name(row.ids[k])}: ${equation(k)}`
    write(equation(j), wide / 2, 12, 16, { bold: true, align: 'center' })
    const end = map(k => at.shade(at.scale, lifted * levelOf(at.shares, row.weights[k])), j, says)
    axis(row.biased, k => lifted * row.weights[k] / top, j, ...limits, end, 'score; height: exp(score) ÷ Σ exp', says,
      value => lifted * Math.exp(value - row.most) / row.sum / top)
    return at.shares
  }

  const values = (j, t) => {
    const chosen = row.order.slice(0, 5)
    if (!chosen.includes(j)) chosen[chosen.length - 1] = j
    const others = row.order.filter(k => !chosen.includes(k)), steps = chosen.length + (others.length ? 1 : 0)
    const given = keys => Float64Array.from({ length: row.width }, (_, c) => keys.reduce((sum, k) => sum + row.given(k, c), 0))
    const limit = largest(row.mixed), x = 104, w = wide - x, step = Math.min(48, (tall - 66) / steps), side = step - 8
    const count = Math.round(t * steps), reached = Float64Array.from({ length: row.width }, () => 0), boxes = []
    for (let i = 0; i < steps; i++) {
      const keys = i < chosen.length ? [chosen[i]] : others, k = keys[0], y = 4 + i * step, one = i < chosen.length
      const weight = keys.reduce((sum, key) => sum + row.weights[key], 0), vector = given(keys)
      if (one) { thumb(row.ids[k], 2, y, side, k === j ? KEY : at.line); at.hits.push([0, y, wide, step, k]) }
      else write(`${others.length} more`, 2, y + side / 2, 11)
      write(percent(weight), x - 8, y + side / 2, 12, { align: 'right', bold: k === j && one })
      boxes.push(strip(vector, x, y, w, side, { limit, shown: i < count ? row.width : 0, from: () => one ? [row.ids[k]] : [],
        says: c => one ? `${row.name(row.ids[k])}: weight ${percent(row.weights[k])} × v${low(c + 1)}, ${number(row.value[k * row.width + c])}, gives ${number(vector[c])}`
          : `the ${others.length} other keys together give ${number(vector[c])} in channel ${c + 1}` }))
      if (i < count) vector.forEach((value, c) => { reached[c] += value })
    }
    const y = 4 + steps * step + 6
    pen.strokeStyle = at.line; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(0, y - 6); pen.lineTo(wide, y - 6); pen.stroke()
    write('Σ  =  o', x - 8, y + 24, 14, { align: 'right', bold: true })
    strip(reached, x, y, w, Math.min(64, tall - y - 2), { limit, says: c => `o${low(c + 1)} = ${number(reached[c])}: the sum of channel ${c + 1} of all rows above`, from: c => boxes.slice(0, count).map(box => box(c)) })
    return ends(limit)
  }
  const heads = (j, t) => {
    const n = row.data.heads, joined = row.joined, w = wide / n, x = row.data.head * w, limit = largest(joined), y = tall * 0.54, h = tall * 0.28
    const move = part(t, 0, 0.5), from = wide * 0.2, size = blend(wide * 0.6, w, move), top = 30
    write(`o of head ${row.data.head + 1}  ·  ${row.mixed.length} numbers`, 0, 14, 13, { bold: true })
    strip(joined, 0, y, wide, h, { limit, shown: 0 })
    const own = strip(row.mixed, from, top, wide * 0.6, h, { limit, says: c => `o${low(c + 1)} = ${number(row.mixed[c])}, the sum of step 7` })
    for (let at = 0; at < n; at++) {
      if (part(t, 0.5, 1) * n < at + 1 && at !== row.data.head) continue
      const place = at * row.width, mine = at === row.data.head
      if (!mine) strip(joined.slice(place, place + row.width), at * w, y, w, h, { limit, says: c => `z${low(place + c + 1)} = ${number(joined[place + c])}: number ${c + 1} of the output of head ${at + 1}` })
    }
    const place = row.data.head * row.width
    strip(row.mixed, blend(from, x, move), blend(top, y, move), size, h, { limit, says: move === 1 ? c => `z${low(place + c + 1)} = o${low(c + 1)} = ${number(row.mixed[c])}` : null, from: c => [own(c)] })
    outline(blend(from, x, move), blend(top, y, move), size, h, KEY, 2)
    for (let at = 0; at < n; at++) if (w > 18) write(w > 58 ? `head ${at + 1}` : at + 1, (at + 0.5) * w, y + h + 14, 11, { align: 'center' })
    write(`z  ·  ${joined.length} numbers`, 0, y - 14, 13, { bold: true })
    return ends(limit)
  }
  const project = (j, t) => {
    const z = row.entering || row.joined, y = row.projected, done = Math.round(t * y.length), now = Math.max(0, done - 1), limit = largest([...z, ...y])
    const h = tall * 0.27, top = 28 + h, bottom = tall - 30 - h
    write(`z  ·  ${z.length} numbers${row.entering ? ', normalised or gated' : ''}`, 0, 12, 13, { bold: true })
    strip(z, 0, 26, wide, h, { limit, says: c => `z${low(c + 1)} = ${number(z[c])}: channel ${c % row.width + 1} of head ${Math.floor(c / row.width) + 1}, from step 8` })
    if (t < 1) {
      pen.strokeStyle = at.line; pen.lineWidth = 0.8; pen.beginPath()
      for (let i = 0; i < 40; i++) { pen.moveTo((i + 0.5) / 40 * wide, top); pen.lineTo((now + 0.5) / y.length * wide, bottom) }
      pen.stroke()
    } else write('W_O  ↓  every number from all above', wide / 2, (top + bottom) / 2, 13, { align: 'center' })
    strip(y, 0, bottom + 2, wide, h, { limit, shown: done, says: c => `y${low(c + 1)} = ${number(y[c])}: row ${c + 1} of W_O times all ${z.length} numbers of z, plus b${low(c + 1)}`, from: () => [[0, 26, wide, h]] })
    write(t < 1 ? `number ${now + 1} of ${y.length}: ${number(y[now])}` : `y  ·  ${y.length} numbers`, 0, tall - 14, 13, { bold: true })
    return ends(limit)
  }
  const residual = (j, t) => {
    const limit = Math.max(...[row.before, row.branch, row.after].map(largest)), third = tall / 3, boxes = []
    const { past } = row.data
    const words = [c => `${past}${low(c + 1)} = ${number(row.before[c])}: it went past the layer, unchanged${past === 'h' ? '; normalised, it was x of step 1' : ''}`,
      c => `${number(row.branch[c])}: number ${c + 1} of what the layer adds, from step 9`,
      c => `${number(row.before[c])} ${row.branch[c] < 0 ? '−' : '+'} ${number(Math.abs(row.branch[c]))} = ${number(row.after[c])}`]
    for (const [i, name, values] of [[0, `${past}, what went past the layer`, row.before], [1, '+  y, what the layer adds', row.branch], [2, `=  ${past} + y, what the next part of the block gets`, row.after]]) {
      write(name, 0, 12 + i * third, 13, { bold: true })
      boxes.push(strip(values, 0, 26 + i * third, wide, third - 34, { limit, shown: (i === 0 ? 1 : part(t, i === 1 ? 0 : 0.5, i === 1 ? 0.4 : 1)) * values.length,
        says: words[i], from: c => i === 2 ? [boxes[0](c), boxes[1](c)] : i ? [] : [asks] }))
    }
    return ends(limit)
  }
  return [patch, vectors, score, scale, add, softmax, values, heads, project, residual]
}
