// After news.
// A picture on which patches are hidden, erased, exchanged or pasted, a switch for every head and a temperature for every layer. What
// is switched is told once the pointer is let go; everything before that is drawn here.

const STORE = new WeakMap()
const INK = '#f59e0b', NONE = 'none'
const WORDS = { Hide: 'Paint over patches to hide them from every token', Erase: 'Paint over patches to erase them in the image', Exchange: 'Choose two patches that change places', Paste: 'Paint where the other image shows' }

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('.switches'), find = name => root.querySelector(name)
  const canvas = find('canvas'), heads = find('.heads'), answers = find('.answers'), said = find('.said'), undo = find('.undo'), reset = find('.reset'), reveal = find('.show')
  const state = STORE.get(parentElement) || { told: 0 }
  STORE.set(parentElement, state)
  if (isNews(state, 'of', data.of)) state.past = []      // changes of another model
  // What a run that began before the latest switch sends is no news.
  if (isNews(state, 'switched', [data.of, data.changes, data.hidden, data.off, data.hot, data.painted])) {
    Object.assign(state, { hidden: new Set(data.hidden), off: new Set(data.off), hot: [...data.hot], painted: new Set(data.painted) })
  }
  if (state.url !== data.seen) {
    state.url = data.seen; state.picture = new Image()
    state.picture.onload = () => draw()
    state.picture.src = data.seen
  }
  const [rows, columns] = data.grid, names = data.heads
  const pair = data.tool === 'Exchange', cells = () => data.tool === 'Hide' ? state.hidden : state.painted
  const sorted = set => [...set].sort((a, b) => a - b)
  const send = back => setStateValue('switched', { number: Date.now() * 100 + ++state.told % 100, back, hidden: sorted(state.hidden), off: [...state.off], hot: state.hot, tool: data.tool, painted: pair ? [...state.painted] : sorted(state.painted) })
  const tell = (back = null) => {
    if (state.past.at(-1) !== data.changes) state.past.push(data.changes)
    send(back)
  }
  const show = () => { drawHeads(); draw() }

  const draw = () => {
    if (!canvas.isConnected || !canvas.clientWidth) return
    const ratio = window.devicePixelRatio || 1, wide = canvas.clientWidth, tall = wide * data.ratio
    canvas.width = Math.round(wide * ratio); canvas.height = Math.round(tall * ratio); canvas.style.height = tall + 'px'
    const pen = canvas.getContext('2d'), { naturalWidth: w, naturalHeight: h } = state.picture
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.imageSmoothingEnabled = w > 64
    if (w) pen.drawImage(state.picture, 0, 0, w, h, 0, 0, wide, tall)
    const a = wide / columns, b = tall / rows
    for (const cell of state.hidden) {
      const x = cell % columns * a, y = Math.floor(cell / columns) * b
      pen.fillStyle = 'rgb(128 132 150)'; pen.fillRect(x, y, a, b)
      pen.strokeStyle = 'rgb(20 22 40 / .7)'; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(x, y + b); pen.lineTo(x + a, y); pen.stroke()
    }
    pen.strokeStyle = INK; pen.lineWidth = 1.5
    for (const cell of data.edited) pen.strokeRect(cell % columns * a + 1, Math.floor(cell / columns) * b + 1, a - 2, b - 2)
    const known = new Set(data.painted)
    for (const cell of state.painted) {
      if (known.has(cell)) continue
      pen.fillStyle = 'rgb(245 158 11 / .55)'; pen.fillRect(cell % columns * a, Math.floor(cell / columns) * b, a, b)
    }
    if (a >= 6) {
      pen.strokeStyle = 'rgb(255 255 255 / .22)'; pen.lineWidth = 0.5; pen.beginPath()
      for (let c = 1; c < columns; c++) { pen.moveTo(c * a, 0); pen.lineTo(c * a, tall) }
      for (let r = 1; r < rows; r++) { pen.moveTo(0, r * b); pen.lineTo(wide, r * b) }
      pen.stroke()
    }
    if (state.at !== undefined && state.at !== null) { pen.strokeStyle = INK; pen.lineWidth = 2; pen.strokeRect(state.at % columns * a, Math.floor(state.at / columns) * b, a, b) }
    said.textContent = [data.alone ? '' : pair && state.painted.size ? 'Now the other patch' : WORDS[data.tool], state.hidden.size && `${state.hidden.size} of ${rows * columns} hidden`].filter(Boolean).join(' · ')
    Object.assign(root.dataset, { hidden: state.hidden.size, off: state.off.size, painted: state.painted.size, tool: data.tool })
  }

  const made = (name, more) => Object.assign(document.createElement(name), more)
  const drawHeads = () => {
    root.classList.toggle('no-heads', !names.length)
    heads.style.setProperty('--across', Math.max(1, ...names))
    heads.replaceChildren(...names.map((count, layer) => {
      const all = [...Array(count).keys()].map(head => `${layer}.${head}`), row = made('div', { className: 'row' })
      const label = made('button', { className: 'layer', textContent: layer + 1, ariaLabel: `All heads of layer ${layer + 1}`, onclick: () => {
        const off = all.every(name => state.off.has(name))
        all.forEach(name => off ? state.off.delete(name) : state.off.add(name)); show(); tell()
      } })
      const buttons = all.map((name, head) => made('button', { className: 'head', textContent: count < 13 ? head + 1 : '', ariaPressed: !state.off.has(name), ariaLabel: `Layer ${layer + 1}, head ${head + 1}`, onclick: () => {
        state.off.has(name) ? state.off.delete(name) : state.off.add(name); show(); tell()
      } }))
      const hot = made('select', { ariaLabel: `Temperature of layer ${layer + 1}`, className: state.hot[layer] === 1 ? '' : 'hot', onchange: () => { state.hot[layer] = Number(hot.value); show(); tell() } })
      hot.append(...data.temperatures.map(value => made('option', { value, textContent: value, selected: value === state.hot[layer] })))
      row.append(label, ...buttons, ...Array(Math.max(...names) - count).fill().map(() => made('i')), hot)
      return row
    }))
  }
  const drawAnswers = () => answers.replaceChildren(...data.answers.map(([name, before, after, share, left]) => {
    const row = made('div', { className: 'answer' })
    row.style.setProperty('--share', `${100 * share}%`); row.style.setProperty('--left', `${100 * left}%`)
    row.append(made('span', { textContent: name }), made('b', { textContent: data.changes === NONE ? before : `${before} → ${after}` }))
    return row
  }))

  const cell = event => {
    const frame = canvas.getBoundingClientRect(), x = (event.clientX - frame.left) / frame.width, y = (event.clientY - frame.top) / frame.height
    return x < 0 || y < 0 || x >= 1 || y >= 1 ? null : Math.floor(y * rows) * columns + Math.floor(x * columns)
  }
  const paint = at => { if (at !== null) { state.painting ? cells().add(at) : cells().delete(at) } }
  // Of two patches that change places the first waits for the second.
  const choose = at => {
    if (at === null) return
    cells().has(at) ? cells().delete(at) : cells().add(at)
    draw()
    if (cells().size === 2) tell()
  }
  canvas.onpointerdown = event => {
    const at = cell(event)
    if (pair) return choose(at)
    state.painting = !cells().has(at); state.down = true
    canvas.setPointerCapture(event.pointerId); paint(at); draw()
  }
  canvas.onpointermove = event => { state.at = cell(event); if (state.down) paint(state.at); draw() }
  canvas.onpointerup = () => { if (state.down) { state.down = false; tell() } }
  canvas.onpointerleave = () => { state.at = null; draw() }
  canvas.onkeydown = event => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key], at = state.at ?? 0
    if (step) { event.preventDefault(); state.at = Math.min(rows * columns - 1, Math.max(0, at + step)); draw() }
    if (event.key === ' ' || event.key === 'Enter') { event.preventDefault(); if (pair) choose(at); else { state.painting = !cells().has(at); paint(at); draw(); tell() } }
  }
  reveal.disabled = !data.costliest; reveal.onclick = () => tell(data.costliest)
  undo.disabled = !state.past.length; reset.disabled = data.changes === NONE
  undo.onclick = () => send(state.past.pop())
  reset.onclick = () => tell(NONE)
  canvas.setAttribute('aria-label', data.label)
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => draw())
  state.observer.observe(canvas)
  drawAnswers(); show()
  canvas.inert = find('nav').hidden = Boolean(data.alone)
  heads.querySelectorAll('button, select').forEach(each => { each.disabled = data.alone })   // they show what was measured
  return () => state.observer?.disconnect()
}
