// After short, scales, enlarge, guide.
// One model's card: the image, its grid, the map of the chosen query, its predictions.
// The whole matrix of the layer is here, so hovering needs no round trip; only a click is sent to Python.
// All cards on the page share one cursor (a point of the image in fractions), each at its own grid.

const CURSOR = 'vizkit-cursor'
const STORE = new WeakMap()
const MARKS_APART = 0.07                               // of the side: as wide as a mark is

const ints = text => new Int32Array(bytes(text).buffer)

export default function ({ data, parentElement, setStateValue }) {
  const canvas = parentElement.querySelector('canvas')
  const said = parentElement.querySelector('output'), words = parentElement.querySelector('.words')
  const legend = words.querySelector(':scope > p'), found = parentElement.querySelector('strong')
  const card = STORE.get(parentElement) || { epoch: null }
  STORE.set(parentElement, card)
  Object.assign(card, { data, here: null })           // what the pointer reads

  if (card.weightsText !== data.weights) {            // decode once, not at every rerun
    card.weightsText = data.weights
    card.weights = data.weights instanceof Uint16Array ? data.weights : new Uint16Array(bytes(data.weights).buffer)
  }
  card.queryIds = ints(data.query_ids)
  card.keyIds = ints(data.key_ids)
  if (data.key_regions) { card.keyRegions = ints(data.key_regions); card.queryRegions = ints(data.query_regions) }
  card.place = new Map()
  card.queryIds.forEach((id, place) => { if (id >= 0 && !card.place.has(id)) card.place.set(id, place) })
  card.colours = bytes(data.colours)
  legend.hidden = !data.key_grid || data.kind === 'pick'
  if (card.epoch !== data.epoch) {                     // a new query from Python: link, keyboard field, another card
    card.epoch = data.epoch
    card.point = data.point
    card.special = data.special
  }

  // ---- geometry: fractions of the image ↔ cells of this model's grid --------------------------------------------
  const box = data.box                                 // what the model saw, in fractions of the image
  const frame = data.frame || [0, 0, 1, 1]             // the part of the image that is drawn here
  const inFrame = point => [0, 1].map(i => (point[i] - frame[i]) / (frame[i + 2] - frame[i]))
  const cellAt = (point, grid, seen = box) => [
    clamp(Math.floor((point[1] - seen[1]) / (seen[3] - seen[1]) * grid[0]), 0, grid[0] - 1),
    clamp(Math.floor((point[0] - seen[0]) / (seen[2] - seen[0]) * grid[1]), 0, grid[1] - 1)]
  const centre = (cell, grid) => [
    box[0] + (cell[1] + 0.5) / grid[1] * (box[2] - box[0]),
    box[1] + (cell[0] + 0.5) / grid[0] * (box[3] - box[1])]
  const queryOf = point => {
    if (card.special) {
      const index = data.query_special.indexOf(card.special)
      if (index >= 0 && card.place.has(index)) return index
    }
    if (!data.query_grid) return card.queryIds[0]
    const cell = cellAt(point, data.query_grid)
    const id = data.query_special.length + cell[0] * data.query_grid[1] + cell[1]
    return card.place.has(id) ? id : card.queryIds[0]
  }
  const rowOf = id => {
    const { keys, key_special, key_grid } = data
    const row = new Float32Array(key_special.length + key_grid[0] * key_grid[1])
    const place = card.place.get(id), queries = data.queries, group = Math.floor(place / queries)
    for (let j = 0; j < keys; j++) {
      const key = card.keyIds[group * keys + j]
      if (key >= 0) row[key] += card.weights[place * keys + j] * data.step + (data.offset || 0)
    }
    return row
  }

  // ---- drawing ------------------------------------------------------------------------------------------------
  const draw = point => {
    paint(canvas, point)
    if (card.guided_to && card.guided_to !== point) guide()
    if (card.enlarged) { card.enlarged.draw(); card.enlarged.said.textContent = said.textContent }
  }
  const paint = (sheet, point, opacity = 1, from = 0) => {   // `from`: where the map begins, a share of the width
    if (!card.image || !card.image.complete || !sheet.clientWidth) return
    const ratio = window.devicePixelRatio || 1
    const width = Math.round(sheet.clientWidth * ratio), height = Math.round(width * data.size[0] / data.size[1])
    if (sheet.width !== width || sheet.height !== height) { sheet.width = width; sheet.height = height }
    const pen = sheet.getContext('2d')
    const style = getComputedStyle(canvas)
    card.drawn = point
    pen.imageSmoothingEnabled = data.size[1] > 128     // small digits stay what they are: squares
    pen.globalAlpha = 1
    pen.drawImage(card.image, 0, 0, width, height)
    const [x0, y0] = inFrame(box).map((share, i) => share * (i ? height : width))
    const [x1, y1] = inFrame(box.slice(2)).map((share, i) => share * (i ? height : width))
    pen.fillStyle = 'rgba(8, 10, 24, .62)'             // outside the crop: the model did not see it
    pen.beginPath(); pen.rect(0, 0, width, height); pen.rect(x0, y0, x1 - x0, y1 - y0); pen.fill('evenodd')
    pen.save()
    pen.beginPath(); pen.rect(from * width, 0, width, height); pen.clip()
    if (data.key_grid && data.kind !== 'pick' && data.ceiling) dim(pen, [0, 0, width, height], opacity)
    if (data.key_grid) {
      const query = queryOf(point), row = rowOf(query)
      pen.globalAlpha = opacity
      if (data.kind !== 'pick') drawMap(pen, query, row, x0, y0, x1, y1)
      pen.globalAlpha = 1
      if (data.show_grid) drawGrid(pen, data.key_grid, x0, y0, x1, y1, ratio)
      if (data.second_grid) drawGrid(pen, data.second_grid, x0, y0, x1, y1, ratio, 'rgba(56, 224, 255, .75)', 1.2)
      if (data.key_regions) drawWindow(pen, query, x0, y0, x1, y1, ratio)
      drawCell(pen, query - data.query_special.length, data.query_grid, x0, y0, x1, y1, ratio)
      for (const [r, c] of data.ringed || []) drawCell(pen, r * data.key_grid[1] + c, data.key_grid, x0, y0, x1, y1, ratio, '#38e0ff')
      if (card.here) drawCell(pen, cellAt(card.here, data.key_grid).reduce((r, c) => r * data.key_grid[1] + c), data.key_grid, x0, y0, x1, y1, ratio)
      tell(query, row)
    } else said.textContent = ''
    pen.restore()
    if (from > 0) { pen.fillStyle = '#fff'; pen.fillRect(from * width - ratio, 0, 2 * ratio, height) }
    pen.strokeStyle = style.getPropertyValue('--st-primary-color') || '#4338ca'
    pen.lineWidth = 2 * ratio
    pen.strokeRect(x0 + ratio, y0 + ratio, x1 - x0 - 2 * ratio, y1 - y0 - 2 * ratio)
  }
  const drawMap = (pen, query, row, x0, y0, x1, y1) => {
    const places = row.subarray(data.key_special.length), group = Math.floor(card.place.get(query) / data.queries)
    const seen = card.keyIds.subarray(group * data.keys, (group + 1) * data.keys).filter(id => id >= data.key_special.length).length
    const own = String(data.query_grid) === String(data.key_grid) ? query - data.query_special.length : -1
    const scale = card.scale = scaleOf(data.scale, places, seen, own), map = painted(scale, places, data.key_grid, card.colours, data.floor, data.ceiling)
    showBar(legend.children, scale, card.colours)
    legend.dataset.quantity = [...new Set([data.quantity, scale.said])].filter(Boolean).join(' · ')
    pen.imageSmoothingEnabled = false                  // one flat rectangle per token: no detail that is not there
    pen.drawImage(map, x0, y0, x1 - x0, y1 - y0)
  }
  const drawGrid = (pen, grid, x0, y0, x1, y1, ratio, colour = 'rgba(255, 255, 255, .28)', line = 0.6) => {
    if ((x1 - x0) / grid[1] < 5 * ratio) return        // finer than the eye: lines would hide the image
    pen.strokeStyle = colour
    pen.lineWidth = ratio * line
    pen.beginPath()
    for (let c = 1; c < grid[1]; c++) { const x = x0 + c * (x1 - x0) / grid[1]; pen.moveTo(x, y0); pen.lineTo(x, y1) }
    for (let r = 1; r < grid[0]; r++) { const y = y0 + r * (y1 - y0) / grid[0]; pen.moveTo(x0, y); pen.lineTo(x1, y) }
    pen.stroke()
  }
  const drawWindow = (pen, query, x0, y0, x1, y1, ratio) => {   // the query's window outlined, what it may not see hatched
    const [rows, columns] = data.key_grid, first = data.key_special.length
    const w = (x1 - x0) / columns, h = (y1 - y0) / rows, place = card.place.get(query)
    const start = Math.floor(place / data.queries) * data.keys, region = card.queryRegions[place]
    const ids = card.keyIds.subarray(start, start + data.keys), window = new Set(ids), hidden = new Path2D()
    ids.forEach((id, j) => {
      if (id < first || card.keyRegions[start + j] === region) return
      hidden.rect(x0 + (id - first) % columns * w, y0 + Math.floor((id - first) / columns) * h, w, h)
    })
    pen.save()
    pen.clip(hidden)
    pen.strokeStyle = 'rgba(255, 255, 255, .55)'; pen.lineWidth = ratio
    pen.beginPath()
    for (let x = x0 - (y1 - y0); x < x1; x += 6 * ratio) { pen.moveTo(x, y1); pen.lineTo(x + y1 - y0, y0) }
    pen.stroke()
    pen.restore()
    pen.beginPath()
    window.forEach(id => {
      if (id < first) return
      const c = (id - first) % columns, r = Math.floor((id - first) / columns)
      const x = x0 + c * w, y = y0 + r * h
      if (!c || !window.has(id - 1)) { pen.moveTo(x, y); pen.lineTo(x, y + h) }
      if (c === columns - 1 || !window.has(id + 1)) { pen.moveTo(x + w, y); pen.lineTo(x + w, y + h) }
      if (!r || !window.has(id - columns)) { pen.moveTo(x, y); pen.lineTo(x + w, y) }
      if (r === rows - 1 || !window.has(id + columns)) { pen.moveTo(x, y + h); pen.lineTo(x + w, y + h) }
    })
    for (const [colour, line] of [['#000', 4], ['#38e0ff', 2]]) {
      pen.strokeStyle = colour; pen.lineWidth = line * ratio; pen.stroke()
    }
  }
  const drawCell = (pen, index, grid, x0, y0, x1, y1, ratio, ink = '#fff') => {
    if (index < 0 || !grid) return
    const [rows, columns] = grid, w = (x1 - x0) / columns, h = (y1 - y0) / rows
    const x = x0 + (index % columns) * w, y = y0 + Math.floor(index / columns) * h
    for (const [colour, line] of [['#000', 5], [ink, 2.5]]) {
      pen.strokeStyle = colour; pen.lineWidth = line * ratio; pen.strokeRect(x, y, w, h)
    }
  }
  const tell = (query, row) => {
    if (card.sentences.size) found.firstChild.textContent = card.sentences.get(query) ?? ''
    if (data.kind === 'features') {
      const places = row.slice(data.key_special.length), best = places.indexOf(Math.max(...places))   // specials have none
      const columns = data.key_grid[1], [r, c] = cellAt(card.drawn, data.key_grid)
      const place = `row ${Math.floor(best / columns) + 1}, column ${best % columns + 1} of ${data.key_grid.join(' × ')}`
      said.textContent = `row ${r + 1}, column ${c + 1}: ${wordsOf(data.scale, places[r * columns + c])} · largest, ${wordsOf(data.scale, places[best])}, at ${place}`
      return
    }
    const named = query < data.query_special.length ? '[' + data.query_special[query] + ']'
      : data.query_grid ? (i => `row ${Math.floor(i / data.query_grid[1]) + 1}, column ${i % data.query_grid[1] + 1} of ${data.query_grid.join(' × ')}`)(query - data.query_special.length)
      : 'token ' + (query + 1)
    if (data.kind === 'pick') { said.textContent = named; return }
    if (data.kind === 'similarity') {
      const others = [...row.keys()].filter(i => i >= data.key_special.length && i !== query)
      const far = others.reduce((a, b) => row[b] < row[a] ? b : a), near = others.reduce((a, b) => row[b] > row[a] ? b : a)
      const place = i => (at => `row ${Math.floor(at / data.key_grid[1]) + 1}, column ${at % data.key_grid[1] + 1}`)(i - data.key_special.length)
      const special = data.key_special.map((name, i) => ` · [${name}] ${row[i].toFixed(2)}`).join('')
      said.textContent = `${named} · most similar: ${place(near)} (${row[near].toFixed(2)}) · least: ${place(far)} (${row[far].toFixed(2)})${special}`.replaceAll('(-', '(−')
      return
    }
    if (card.here) {
      const [r, c] = cellAt(card.here, data.key_grid)
      said.textContent = `${named} ${data.verb || 'gives'} here, row ${r + 1}, column ${c + 1}: ${wordsOf(card.scale, row[data.key_special.length + r * data.key_grid[1] + c])}`
      return
    }
    const towards = data.verb ? 'from' : 'to', written = value => valueText(value, data.scale.unit)
    const parts = data.key_special.map((name, i) => `${written(row[i])} ${towards} [${name}]`)
    const start = Math.floor(card.place.get(query) / data.queries) * data.keys
    const padded = card.keyIds.subarray(start, start + data.keys).includes(-1)   // else a sum misses one by rounding alone
    const lost = 1 - row.reduce((sum, value) => sum + value, 0)
    if (padded && lost > 0.002 && !data.kind) parts.push(`${percent(lost)} ${towards} padding`)
    let best = data.key_special.length
    for (let i = best; i < row.length; i++) if (row[i] > row[best]) best = i
    const at = best - data.key_special.length, columns = data.key_grid[1]
    parts.push(`${parts.length ? 'among patches ' : ''}most, ${written(row[best])}, ${towards} row ${Math.floor(at / columns) + 1}, column ${at % columns + 1}`)
    if (query >= data.query_special.length) (data.elsewhere || []).forEach(([name, grid, seen]) => {   // one cursor, many grids
      if (grid[0] <= data.query_grid[0]) return
      const [down, across] = cellAt(card.drawn, grid, seen)
      parts.push(`the same point is row ${down + 1}, column ${across + 1} of ${grid.join(' × ')} in ${name}`)
    })
    said.textContent = `${named} ${data.verb || 'gives'} ${parts.join(' · ')}`
  }

  // ---- one cursor for all cards ----------------------------------------------------------------------------------
  const pointOf = event => {
    const seen = event.currentTarget.getBoundingClientRect()
    const share = [(event.clientX - seen.left) / seen.width, (event.clientY - seen.top) / seen.height]
    return share.map((value, i) => frame[i] + clamp(value, 0, 0.9999) * (frame[i + 2] - frame[i]))
  }
  const share = (point, committed) =>
    window.dispatchEvent(new CustomEvent(CURSOR, { detail: { point, committed } }))
  const commit = point => {
    const shown = point.map(value => clamp(Math.round(value * 10000) / 10000, 0, 0.9999))
    share(shown, true)
    setStateValue('point', shown)
    card.dismiss?.()
  }
  const reads = () => !data.kind && data.key_grid && (card.special || card.place.size < 2)   // one row alone: the pointer reads its places
  const listen = sheet => {
    sheet.onpointermove = event => { if (event.pointerType === 'mouse') share(pointOf(event), false) }
    sheet.onpointerleave = () => share(null, false)
    sheet.onclick = event => { if (card.data.key_grid) commit(pointOf(event)) }
  }
  listen(canvas)
  canvas.onkeydown = event => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key]
    if (!step || !data.key_grid) return
    event.preventDefault()
    const grid = data.query_grid || data.key_grid, cell = cellAt(card.point, grid)
    commit(centre([clamp(cell[0] + step[0], 0, grid[0] - 1), clamp(cell[1] + step[1], 0, grid[1] - 1)], grid))
  }
  if (card.listener) window.removeEventListener(CURSOR, card.listener)
  card.listener = ({ detail }) => {
    if (!canvas.isConnected) return window.removeEventListener(CURSOR, card.listener)
    if (detail.committed) { card.point = detail.point; card.special = null }
    card.here = reads() && !detail.committed ? detail.point : null
    draw(card.here || !detail.point ? card.point : detail.point)
  }
  window.addEventListener(CURSOR, card.listener)
  if (!card.resize) {
    card.resize = new ResizeObserver(() => card.draw())
    card.resize.observe(canvas)
  }
  card.draw = () => draw(card.point)
  canvas.style.setProperty('--ratio', data.size[1] / data.size[0])
  card.paint = (sheet, opacity, from) => paint(sheet, card.drawn, opacity, from)   // with the data of the latest run
  enlarging(card, parentElement.querySelector('button'), data.size, (...given) => card.paint(...given), listen)
  canvas.setAttribute('aria-label', data.label)
  found.hidden = data.sentence === undefined           // else its place is kept where nothing stands out: no page jumps
  found.firstChild.textContent = data.sentence
  card.sentences = new Map((data.sentences || []).flatMap(([words, queries]) => queries.map(query => [query, words])))
  found.dataset.room = data.longest ?? [...card.sentences.values()].reduce((most, words) => words.length > most.length ? words : most, '')
  const guide = () => {                                // of the query that is drawn, also while it is hovered over
    const map = canvas.parentElement, point = card.drawn || card.point
    card.guided_to = null
    if (data.kind || !data.key_grid || !data.query_grid || !data.guide) return guiding(card, map, words)
    card.guided_to = point
    const query = queryOf(point), row = rowOf(query).subarray(data.key_special.length), [, columns] = data.key_grid
    const most = row.reduce((a, b) => Math.max(a, b), 0), best = row.indexOf(most)
    const asks = query < data.query_special.length ? null : centre(cellAt(point, data.query_grid), data.query_grid)
    const there = centre([Math.floor(best / columns), best % columns], data.key_grid)
    const away = asks ? Math.hypot(there[0] - asks[0], there[1] - asks[1]) : 1, itself = !away
    const farther = Math.max(1, MARKS_APART / away)        // two marks would lie on one another
    guiding(card, map, words, [
      [asks ? 'The framed patch asks (the query)' : `[${data.query_special[query]}] asks: a query without a place`, asks],
      [`Brightest: ${percent(most)} of its attention${itself ? ', to itself' : ''}`,
        itself ? null : asks ? asks.map((at, axis) => at + farther * (there[axis] - at)) : there],
      [data.guide],
    ])
  }
  guide()
  touring(data.guide && data.tour, share)
  if (card.source !== data.image) {
    card.source = data.image
    card.image = new Image()
    card.image.onload = card.draw
    card.image.src = data.image
  } else card.draw()

  // ---- predictions -------------------------------------------------------------------------------------------------
  const list = parentElement.querySelector('ol')
  list.replaceChildren(...data.classes.map(([name, share]) => {   // or the text of a value in its own unit, which is no share
    const item = document.createElement('li'), label = document.createElement('span'), value = document.createElement('b')
    label.textContent = name
    const isShare = typeof share === 'number'
    value.textContent = isShare ? percent(share) : share
    item.style.setProperty('--share', isShare ? 100 * share + '%' : '0%')
    item.append(label, value)
    return item
  }))
}
