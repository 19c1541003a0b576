// After short, scales.
// Several maps side by side, each with its name, its colours and the value under the common cursor.
// Only what the model saw is drawn. A click on one of the first `pick` tiles chooses it and tells Python which.

const CURSOR = 'vizkit-cursor'                         // the event that all cards of a page share, see look.js
const STORE = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('section')
  const state = STORE.get(parentElement) || { tiles: [] }
  STORE.set(parentElement, state)
  if (state.text !== data.values) { state.text = data.values; state.values = new Uint16Array(bytes(data.values).buffer) }
  state.scales = { plain: bytes(data.plain), signed: bytes(data.signed) }
  root.style.setProperty('--tile', data.tile_px + 'px')
  root.toggleAttribute('data-large', data.maps.length === 1 && data.tile_px > 300)
  root.setAttribute('aria-label', data.label)

  // ---- the elements, kept from run to run so that nothing flickers ------------------------------------------------
  while (state.tiles.length > data.maps.length) state.tiles.pop().figure.remove()
  while (state.tiles.length < data.maps.length) {
    const figure = document.createElement('figure')
    figure.innerHTML = '<b></b><canvas></canvas><p><span></span><i></i><span></span></p><output></output><small></small><ol></ol>'
    root.append(figure)
    state.tiles.push({ figure, title: figure.querySelector('b'), canvas: figure.querySelector('canvas'),
      legend: figure.querySelector('p'),
      said: figure.querySelector('output'), note: figure.querySelector('small'), answers: figure.querySelector('ol') })
  }
  // ---- a matrix: the names of methods before their rows, those of models above, what colours say in the corner ---------
  const heads = data.matrix, many = heads ? heads.columns.length : 1
  root.toggleAttribute('data-matrix', !!heads)
  root.toggleAttribute('data-pictured', !!heads?.pictured)
  root.style.setProperty('--models', many)
  root.querySelectorAll('header').forEach(head => head.remove())
  const tableOf = scale => state.scales[scale.signed ? 'signed' : 'plain']
  const head = (kind, at, name, note = '', more = '') => {
    const made = document.createElement('header')
    made.className = kind; made.title = more; made.style.setProperty('--at', at)
    made.append(Object.assign(document.createElement('b'), { textContent: name }), Object.assign(document.createElement('small'), { textContent: note }))
    root.append(made)
    return made
  }
  const picture = row => {                             // the image of a row, without a map; a click chooses the row
    const button = document.createElement('button'), map = data.maps[row * many], index = row * many
    button.append(Object.assign(document.createElement('img'), { src: data.images[map.image], alt: heads.rows[row][0] }))
    button.classList.toggle('exact', Math.max(...map.size) <= 128)
    button.disabled = data.alone || index >= data.pick
    button.setAttribute('aria-pressed', String(Math.floor(data.chosen / many) === row && data.chosen !== null))
    button.onclick = () => setTriggerValue('pick', index)
    return button
  }
  const line = ([name, share, colour, value, right]) => {
    const made = document.createElement('li'), words = document.createElement('span'), number = document.createElement('b')
    made.style.cssText = `--share:${100 * share}%;--colour:${colour}`
    words.textContent = words.title = name
    number.textContent = value
    made.append(words, number)
    if (right !== null) {
      const mark = document.createElement('u')
      mark.textContent = right ? '✓' : '✗'
      mark.className = right ? 'right' : 'wrong'
      mark.title = right ? 'right: this is what the image shows' : 'wrong: the image shows something else'
      words.after(mark)
    }
    return made
  }
  if (heads) {
    heads.rows.forEach(([name, note, more], row) => {
      const made = head('row', row, name, note, more)
      if (row < heads.pictured) made.prepend(picture(row))
    })
    heads.columns.forEach((name, column) => head('column', column, name))
    head('corner', 0, '', heads.quantity)
  }
  const drawn = data.maps.filter(map => map.rows), one = (heads || drawn.length > 1) && new Set(drawn.map(({ scale }) => JSON.stringify([scale.signed, scale.ticks]))).size === 1
  if (one) {                                           // a bar for all of them
    const legend = document.createElement('p')
    legend.append(document.createElement('span'), document.createElement('i'), document.createElement('span'))
    showBar(legend.children, drawn[0].scale, tableOf(drawn[0].scale))
    heads ? root.querySelector('.corner').prepend(legend) : head('all', 0, '', drawn[0].scale.kind === 'linear' ? drawn[0].scale.said : 'times an equal share').prepend(legend)
  }
  data.maps.forEach((map, index) => {
    const tile = state.tiles[index], [x0, y0, x1, y1] = map.box        // what its model saw, in fractions of the image
    tile.figure.style.setProperty('--row', Math.floor(index / many))
    tile.figure.style.setProperty('--column', index % many)
    tile.title.textContent = map.name
    tile.note.textContent = map.note
    tile.note.hidden = !map.note
    tile.figure.title = map.more
    tile.canvas.hidden = !map.rows                                     // nothing to see: its sentence stands alone
    tile.legend.hidden = one || !map.rows
    tile.answers.replaceChildren(...map.answers.map(line))
    tile.answers.hidden = !map.answers.length
    const kept = index < data.pick, picks = kept && !data.alone, chosen = kept && data.chosen === index && !heads?.pictured
    tile.figure.toggleAttribute('data-empty', !map.rows)
    tile.canvas.setAttribute('role', picks ? 'button' : 'img')
    tile.canvas.setAttribute('aria-label', `${map.name}. ${heads ? heads.columns[index % many] + '. ' : ''}${data.label}`)
    tile.canvas.tabIndex = picks ? 0 : -1
    tile.canvas.style.aspectRatio = String(((x1 - x0) * map.size[1]) / ((y1 - y0) * map.size[0]))
    tile.figure.toggleAttribute('data-pick', picks)
    tile.figure.toggleAttribute('data-chosen', chosen)
    tile.canvas.ariaPressed = picks ? String(chosen) : null
    if (map.rows && !one) showBar(tile.legend.children, map.scale, tableOf(map.scale))
    tile.canvas.onclick = tile.title.onclick = () => { if (picks) setTriggerValue('pick', index) }
    tile.canvas.onkeydown = event => {
      if (picks && (event.key === 'Enter' || event.key === ' ')) { event.preventDefault(); setTriggerValue('pick', index) }
    }
    tile.canvas.onpointermove = event => {
      if (event.pointerType !== 'mouse') return
      const frame = tile.canvas.getBoundingClientRect()
      const at = [clamp((event.clientX - frame.left) / frame.width, 0, 0.9999), clamp((event.clientY - frame.top) / frame.height, 0, 0.9999)]
      share([x0 + at[0] * (x1 - x0), y0 + at[1] * (y1 - y0)])
    }
    tile.canvas.onpointerleave = () => share(null)
  })

  // ---- drawing ----------------------------------------------------------------------------------------------------
  const valueOf = (map, cell) =>
    map.low + state.values[map.start + cell] * (map.high - map.low) / 65535
  const drawTile = (map, tile, point) => {
    const canvas = tile.canvas, [x0, y0, x1, y1] = map.box
    if (!canvas.clientWidth || !map.rows) { tile.said.textContent = ''; return }
    const ratio = window.devicePixelRatio || 1
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio)
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height }
    const pen = canvas.getContext('2d')
    pen.fillStyle = '#0b0d19'                          // where the model's input was padded beyond the picture
    pen.fillRect(0, 0, width, height)
    const image = state.images[map.image]
    if (image && image.complete && image.naturalWidth && data.floor + data.ceiling < 2) {
      const w = width / (x1 - x0), h = height / (y1 - y0)
      pen.imageSmoothingEnabled = map.size[1] > 128   // small digits stay what they are: squares
      pen.drawImage(image, -x0 * w, -y0 * h, w, h)
      if (data.ceiling) dim(pen, [0, 0, width, height])
    }
    const values = Array.from({ length: map.rows * map.columns }, (_, cell) => valueOf(map, cell))
    const cells = painted(map.scale, values, [map.rows, map.columns], tableOf(map.scale), data.floor, data.ceiling)
    pen.imageSmoothingEnabled = false                  // one flat rectangle per cell: no detail that is not there
    pen.drawImage(cells, 0, 0, width, height)
    const cell = point && [
      clamp(Math.floor((point[1] - y0) / (y1 - y0) * map.rows), 0, map.rows - 1),
      clamp(Math.floor((point[0] - x0) / (x1 - x0) * map.columns), 0, map.columns - 1)]
    tile.said.textContent = cell ? `here ${wordsOf(map.scale, values[cell[0] * map.columns + cell[1]])}` : ''
    if (!cell) return
    for (const [colour, line] of [['#000', 4], ['#fff', 2]]) {
      pen.strokeStyle = colour; pen.lineWidth = line * ratio
      pen.strokeRect(cell[1] * width / map.columns, cell[0] * height / map.rows, width / map.columns, height / map.rows)
    }
  }
  state.draw = point => data.maps.forEach((map, index) => drawTile(map, state.tiles[index], point))

  // ---- one cursor for everything on the page ----------------------------------------------------------------------
  const share = point => window.dispatchEvent(new CustomEvent(CURSOR, { detail: { point, committed: false } }))
  if (state.listener) window.removeEventListener(CURSOR, state.listener)
  state.listener = ({ detail }) => {
    if (!root.isConnected) return window.removeEventListener(CURSOR, state.listener)
    if (!detail.committed) state.draw(detail.point)
  }
  window.addEventListener(CURSOR, state.listener)
  if (!state.resize) {
    state.resize = new ResizeObserver(() => state.draw(null))
    state.resize.observe(root)
  }
  const known = new Map((state.images || []).map(image => [image.src, image]))
  state.images = data.images.map(source => {
    const image = known.get(source) || new Image()
    if (image.src !== source) { image.onload = () => state.draw(null); image.src = source }
    return image
  })
  state.draw(null)
}
