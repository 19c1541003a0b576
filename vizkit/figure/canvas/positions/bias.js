// What a layer adds to its scores by where a key lies: on the left a window as its query sees it, on the right the table of the
// head, in which the window is a part. A key that is pointed at in one is marked in the other, and its entry is named.

const BIASES = new WeakMap()

export default function ({ data, parentElement, setStateValue }) {
  const [window_, table] = parentElement.querySelectorAll('.pair canvas'), [above, over] = parentElement.querySelectorAll('small')
  const said = parentElement.querySelector('output'), legend = parentElement.querySelector('p'), nav = parentElement.querySelector('nav')
  const first = !BIASES.has(parentElement), card = BIASES.get(parentElement) || { key: null }
  BIASES.set(parentElement, card)
  card.data = data
  if (card.chosen !== data.query) { card.chosen = data.query; card.query = data.query }
  if (card.asked !== data.head) { card.asked = data.head; card.head = data.head }
  const { rows, columns, limit } = data, down = 2 * rows - 1, right = 2 * columns - 1
  const values = floats(data.values), signed = bytes(data.signed)
  const colour = value => {
    const at = 3 * Math.round(clamp(127.5 + 127.5 * value / limit, 0, 255))
    return `rgb(${signed.slice(at, at + 3).join(' ')})`
  }
  const place = cell => [Math.floor(cell / columns), cell % columns]
  const centred = (head, index) => values[head * down * right + index] - data.means[head]
  const entry = key => {                               // of the table, where this key lies seen from the query
    const [[qr, qc], [kr, kc]] = [place(card.query), place(key)]
    return (rows - 1 + kr - qr) * right + columns - 1 + kc - qc
  }
  const strongest = () => Array.from({ length: rows * columns }, (_, key) => key)
    .reduce((most, key) => Math.abs(centred(card.head, entry(key))) > Math.abs(centred(card.head, entry(most))) ? key : most, 0)

  // ---- drawing -------------------------------------------------------------------------------------------------------------
  const cells = (canvas, tall, wide, value, frames = []) => {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = width * tall / wide
    if (!width) return
    canvas.style.height = height + 'px'
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) })
    const pen = canvas.getContext('2d'), side = canvas.width / wide, thin = width / wide > 8 ? ratio : 0
    for (let at = 0; at < tall * wide; at++) {
      pen.fillStyle = colour(value(at))
      pen.fillRect(at % wide * side, Math.floor(at / wide) * side, side - thin, side - thin)
    }
    for (const [row, column, high, across, ink] of frames) for (const [stroke, line] of [['#0b0d19', 4], [ink, 2]]) {
      pen.strokeStyle = stroke; pen.lineWidth = line * ratio
      pen.strokeRect(column * side + 2 * ratio, row * side + 2 * ratio, across * side - 4 * ratio - thin, high * side - 4 * ratio - thin)
    }
  }
  const where = (row, column) => {
    const parts = [row && `${Math.abs(row)} ${row > 0 ? 'below' : 'above'}`, column && `${Math.abs(column)} to the ${column > 0 ? 'right' : 'left'}`]
    return parts.filter(Boolean).join(', ') || 'the query itself'
  }
  const paint = card.paint = () => {
    const mark = getComputedStyle(window_).getPropertyValue('--st-primary-color') || '#4338ca'
    const key = card.key ?? strongest(), [qr, qc] = place(card.query), [kr, kc] = place(key), index = entry(key)
    const value = values[card.head * down * right + index]
    cells(window_, rows, columns, cell => centred(card.head, entry(cell)), [[qr, qc, 1, 1, '#fff'], [kr, kc, 1, 1, mark]])
    cells(table, down, right, at => centred(card.head, at),
      [[rows - 1 - qr, columns - 1 - qc, rows, columns, '#fff'], [Math.floor(index / right), index % right, 1, 1, mark]])
    above.textContent = `Window of ${rows} × ${columns}: what each key gets from the query (white frame)`
    over.textContent = `Table of head ${card.head + 1}, the query in the middle; framed: this window`
    said.textContent = `Query in row ${qr + 1}, column ${qc + 1}, key in row ${kr + 1}, column ${kc + 1} (${where(kr - qr, kc - qc)}): `
      + `entry ${down * right - index} of ${down * right} adds ${number(value, 2)} to the score.`
    table.setAttribute('aria-label', over.textContent)
    said.dataset.entry = down * right - index
    nav.querySelectorAll('button').forEach((button, head) => {
      button.setAttribute('aria-pressed', head === card.head)
      cells(button.querySelector('canvas'), down, right, at => centred(head, at))
    })
  }

  // ---- the pointer and the keys --------------------------------------------------------------------------------------------
  const cellAt = (canvas, { offsetX, offsetY }, tall, wide) => [
    clamp(Math.floor(offsetY / canvas.clientHeight * tall), 0, tall - 1), clamp(Math.floor(offsetX / canvas.clientWidth * wide), 0, wide - 1)]
  const point = key => { card.key = key; paint() }
  const ask = cell => {
    card.query = cell
    point(null)
    setStateValue('query', cell + 1)
  }
  window_.onpointermove = event => { const [row, column] = cellAt(window_, event, rows, columns); point(row * columns + column) }
  table.onpointermove = event => {
    const [row, column] = cellAt(table, event, down, right), [qr, qc] = place(card.query)
    const [kr, kc] = [row - rows + 1 + qr, column - columns + 1 + qc]
    point(kr >= 0 && kr < rows && kc >= 0 && kc < columns ? kr * columns + kc : null)
  }
  window_.onpointerleave = table.onpointerleave = () => point(null)
  window_.onclick = event => { const [row, column] = cellAt(window_, event, rows, columns); ask(row * columns + column) }
  window_.onkeydown = event => {
    const [dr, dc] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] || [0, 0]
    if (!dr && !dc) return
    event.preventDefault()
    const [row, column] = place(card.query)
    ask(clamp(row + dr, 0, rows - 1) * columns + clamp(column + dc, 0, columns - 1))
  }
  window_.setAttribute('aria-label', `${data.label} Use the arrow keys to move the query.`)

  if (nav.childElementCount !== data.means.length) nav.replaceChildren(...data.means.map((_, head) => {
    const button = document.createElement('button')
    button.append(`head ${head + 1}`, Object.assign(document.createElement('canvas'), { role: 'img', ariaLabel: `Table of head ${head + 1}` }))
    button.onclick = () => card.choose(head)
    return button
  }))
  card.choose = head => { card.head = head; paint(); setStateValue('head', head + 1) }
  legend.firstElementChild.textContent = number(-limit, 1)
  legend.lastElementChild.textContent = `${number(limit, 1)} ${data.quantity}`
  legend.style.setProperty('--ramp', [-1, -0.6, -0.2, 0.2, 0.6, 1].map(share => colour(share * limit)).join(', '))
  paint()
  if (first) new ResizeObserver(() => card.paint()).observe(window_)
}
