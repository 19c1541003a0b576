// After short, news.
// A source and what a model writes from it, word after word: who looks at whom, in every layer and head. Python sends all
// weights once; hovering, choosing a head, stepping and playing need no Python. A word that is forced is told to Python.

const STORE = new WeakMap()
const SVG = 'http:' + '//www.w3.org/2000/svg'
const ROW = 32, TOP = 30, STEP_MS = 800, FAINT = 0.03
const INK = { encoder: 'var(--encoder)', decoder: 'var(--decoder)', cross: 'var(--cross)' }
const LOOKS = { encoder: 'source at source', decoder: 'written at written', cross: 'written at source' }
const KINDS = { encoder: 'Encoder', decoder: 'Decoder', cross: 'Decoder → source' }

// The weights of one kind of attention, of a layer and a head, or the mean over heads.
function weightsOf(part, head) {
  const { heads, queries, keys, values } = part, size = queries * keys
  if (head !== null) return values.subarray(head * size, (head + 1) * size)
  return Float32Array.from({ length: size }, (_, at) => { let sum = 0; for (let h = 0; h < heads; h++) sum += values[h * size + at]; return sum / heads })
}

export default function ({ data, parentElement, setStateValue }) {
  const find = name => parentElement.querySelector(name)
  const root = find('.translate'), svg = find('.arcs'), heads = find('.heads'), key = find('.key'), next = find('.next'), says = find('.says'), title = find('.next-title')
  const [back, play, forward] = root.querySelectorAll('.controls button'), undo = find('.undo')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  const last = data.outputs.length
  state.parts = data.parts.map(part => ({ ...part, values: floats(part.weights) }))
  const others = isNews(state, 'text', [data.source, data.outputs, data.parts])
  if (isNews(state, 'pick', data.pick) || others) {
    state.pick = {}
    for (const kind of Object.keys(KINDS)) {
      const own = state.parts.filter(part => part.kind === kind), before = data.pick[kind]
      if (!own.length) continue
      const layer = clamp(before?.[0] ?? own.findLastIndex(part => !part.title), 0, own.length - 1), head = before?.[1] ?? null
      state.pick[kind] = [layer, head !== null && head < own[layer].heads ? head : null]
    }
  }
  const picked = kind => { const pick = state.pick[kind]; return pick && state.parts.filter(part => part.kind === kind)[pick[0]] }
  const matrix = kind => { const part = picked(kind); return part ? { ...part, now: weightsOf(part, state.pick[kind][1]) } : null }
  if (isNews(state, 'at', data.at) || others) {
    clearTimeout(state.timer)
    Object.assign(state, { playing: false, hover: null, shown: last, at: clamp(data.at, 1, last) })
  }
  const wrong = ({ word, right }) => right !== '' && right !== word
  const focus = () => state.hover || { side: 'out', index: state.at }

  // ---- places: source words on the left, written words on the right, row 0 of these is [BEGIN] -----------------------------------
  const wide = () => Math.max(300, svg.clientWidth || 640)
  const column = () => { const w = wide(), arc = clamp(w * 0.15, 34, 110); return { w, arc, left: arc, right: w - arc, word: clamp(w * 0.2, 92, 150) } }
  const y = row => TOP + ROW * row + ROW / 2

  const made = (tag, attributes, text) => {
    const element = document.createElementNS(SVG, tag)
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
    if (text !== undefined) element.textContent = text
    return element
  }
  const arc = (x, a, b, bulge) => `M${x},${y(a)} C${x + bulge},${y(a)} ${x + bulge},${y(b)} ${x},${y(b)}`
  const stroke = (path, ink, weight, strong) => made('path', {
    d: path, fill: 'none', stroke: ink, 'stroke-width': strong ? 1 + 5 * weight : 1 + 1.5 * weight, 'stroke-opacity': strong ? 0.2 + 0.8 * weight : 0.35 * weight, 'stroke-linecap': 'round'
  })

  const drawLines = () => {
    const { arc: room, left, right, word } = column(), on = focus(), lines = [[], []]
    const add = (path, ink, weight, strong) => { if (weight > FAINT) lines[strong ? 1 : 0].push(stroke(path, ink, weight, strong)) }
    const cross = matrix('cross'), encoder = matrix('encoder'), decoder = matrix('decoder')
    const from = left + word + 4, to = right - word - 4, middle = (from + to) / 2
    if (cross) for (let q = 0; q < Math.min(cross.queries, state.shown); q++) for (let k = 0; k < cross.keys; k++) {
      const strong = on.side === 'out' ? on.index === q + 1 : on.index === k
      add(`M${to},${y(q + 1)} C${middle},${y(q + 1)} ${middle},${y(k)} ${from},${y(k)}`, INK.cross, cross.now[q * cross.keys + k], strong)
    }
    if (encoder && on.side === 'in') for (let k = 0; k < encoder.keys; k++) {
      if (k === on.index) continue
      add(arc(left - 4, on.index, k, -Math.min(room - 6, 16 + 9 * Math.abs(k - on.index))), INK.encoder, encoder.now[on.index * encoder.keys + k], true)
    }
    if (encoder && on.side === 'out') for (let q = 0; q < encoder.queries; q++) for (let k = 0; k < encoder.keys; k++) {
      if (k !== q) add(arc(left - 4, q, k, -Math.min(room - 6, 16 + 9 * Math.abs(k - q))), INK.encoder, encoder.now[q * encoder.keys + k], false)
    }
    if (decoder) for (let q = 0; q < Math.min(decoder.queries, state.shown); q++) for (let k = 0; k <= q && k < decoder.keys; k++) {
      const strong = on.side === 'out' && on.index === q + 1
      add(arc(right + 4, q + 1, k, Math.min(room - 6, 16 + 9 * Math.abs(q + 1 - k))), INK.decoder, decoder.now[q * decoder.keys + k], strong)
    }
    return lines.flat()
  }

  // How much the word in focus looks at a word: the length of the bar behind it.
  const share = (side, index) => {
    const on = focus(), cross = matrix('cross'), encoder = matrix('encoder'), decoder = matrix('decoder')
    if (on.side === 'out' && side === 'in') return cross ? cross.now[(on.index - 1) * cross.keys + index] : 0
    if (on.side === 'out' && side === 'out') return decoder && index < on.index ? decoder.now[(on.index - 1) * decoder.keys + index] : 0
    if (on.side === 'in' && side === 'in') return encoder ? encoder.now[on.index * encoder.keys + index] : 0
    return cross && index > 0 ? cross.now[(index - 1) * cross.keys + on.index] : 0
  }
  const word = (side, index, text, marked, truth = '') => {
    const { left, right, word: size } = column(), on = focus(), here = on.side === side && on.index === index
    const x = side === 'in' ? left : right - size, late = side === 'out' && index > state.shown
    const group = made('g', { class: 'word' + (here ? ' here' : '') + (marked ? ' marked' : '') + (late ? ' late' : '') + (truth ? ' wrong' : ''), 'data-side': side, 'data-index': index })
    const part = share(side, index), ink = on.side === 'in' && side === 'in' ? INK.encoder : side === 'out' && on.side === 'out' ? INK.decoder : INK.cross
    group.append(made('rect', { class: 'box', x, y: y(index) - ROW / 2 + 1.5, width: size, height: ROW - 3, rx: 5 }))
    if (part > 0.005 && !late) group.append(made('rect', { x, y: y(index) - ROW / 2 + 1.5, width: Math.max(3, size * clamp(part, 0, 1)), height: ROW - 3, rx: 5, fill: ink, 'fill-opacity': 0.5 }))
    group.append(made('text', { x: x + 8, y: y(index) + 4.5 }, truth ? `${text} ≠ ${truth}` : text.length > 13 ? text.slice(0, 12) + '…' : text))
    const room = part > 0.7 && part < 0.95 ? size * part : size   // a number is inside its bar or beside it, not on its end
    if (part >= 0.095 && !late && 8 * text.length + 38 < room) group.append(made('text', { class: 'share', x: x + room - 6, y: y(index) + 4, 'text-anchor': 'end' }, part.toFixed(2).replace(/^0/, '')))
    return group
  }
  const drawArcs = () => {
    const { left, right, word: size, w } = column(), tall = TOP + ROW * Math.max(data.source.length, last + 1) + 6
    svg.setAttribute('viewBox', `0 0 ${w} ${tall}`); svg.style.height = tall + 'px'
    svg.replaceChildren(
      made('text', { class: 'head', x: left + 2, y: 17 }, 'Source'), made('text', { class: 'head', x: right - size + 2, y: 17 }, 'Written'),
      ...drawLines(), ...data.source.map((text, i) => word('in', i, text, false)), word('out', 0, '[BEGIN]', false),
      ...data.outputs.map((output, i) => word('out', i + 1, output.word, output.forced, wrong(output) ? output.right : '')))
  }

  // ---- the words that could have come, and the heads -----------------------------------------------------------------------------
  const drawNext = () => {
    const on = focus(), step = on.side === 'out' ? Math.max(1, on.index) : state.at, output = data.outputs[step - 1]
    title.textContent = `Word ${step}: probabilities`
    next.replaceChildren(...output.top.map(([text, probability]) => {
      const button = document.createElement('button'), name = document.createElement('span'), worth = document.createElement('b')
      name.textContent = text; worth.textContent = percent(probability)
      button.append(name, worth); button.style.setProperty('--share', `${100 * probability}%`)
      button.setAttribute('aria-pressed', text === output.word); button.disabled = data.alone                     // nobody goes on writing
      button.title = !data.alone ? `Write “${text}” here and let the model go on` : ''
      button.onclick = () => { if (text !== output.word) { state.at = step; setStateValue('force', { step, word: text }) } }
      return button
    }))
    undo.hidden = data.alone || !data.outputs.some(output => output.forced)
    const [target, weight] = strongest(step)
    const looks = target === null || step === data.at ? '' : `To write “${output.word}” (word ${step}), it ${data.looks} ${target}, ${percent(weight)}.`  // of the other the page says it
    says.textContent = looks + (wrong(output) ? ` Right is “${output.right}”.` : '')
    Object.assign(root.dataset, { step, shown: state.shown, written: data.outputs.map(output => output.word).join(' '), focus: `${on.side} ${on.index}` })
  }
  const strongest = step => {
    const cross = matrix('cross')
    if (!cross) return [null, 0]
    const row = [...cross.now.subarray((step - 1) * cross.keys, step * cross.keys)], best = row.indexOf(Math.max(...row))
    const word = data.source[best], several = data.source.indexOf(word) < data.source.lastIndexOf(word)
    return [`“${word}”` + (several ? ` (word ${best + 1} of the source)` : ''), row[best]]
  }
  const drawHeads = () => {
    const blocks = []
    for (const [kind, name] of Object.entries(KINDS)) {
      const own = state.parts.filter(part => part.kind === kind)
      own.forEach((part, layer) => {
        const line = document.createElement('div'), label = document.createElement('span')
        line.className = 'line'; line.style.setProperty('--ink', INK[kind])
        label.textContent = part.title || `${name} ${layer + 1}`
        line.append(label)
        for (const head of part.heads > 1 ? [null, ...Array(part.heads).keys()] : [null]) line.append(tile(part, kind, layer, head))
        blocks.push(line)
      })
    }
    heads.replaceChildren(...blocks)
    key.replaceChildren(...Object.keys(LOOKS).filter(kind => state.pick[kind]).map(kind => {
      const each = document.createElement('span')
      const [layer, head] = state.pick[kind], { title, heads } = picked(kind)
      each.textContent = `${LOOKS[kind]}: ${title || `layer ${layer + 1}${heads === 1 ? '' : head === null ? `, mean of ${heads} heads` : `, head ${head + 1}`}`}`; each.style.setProperty('--ink', INK[kind])
      return each
    }))
  }
  const tile = (part, kind, layer, head) => {
    const button = document.createElement('button'), canvas = document.createElement('canvas'), small = document.createElement('small')
    const { queries, keys } = part, values = weightsOf(part, head), pixels = new ImageData(keys, queries)
    const [r, g, b] = getComputedStyle(root).getPropertyValue('--' + kind + '-rgb').split(' ').map(Number)
    for (let at = 0; at < queries * keys; at++) pixels.data.set([r, g, b, Math.round(255 * clamp(values[at], 0, 1) ** 0.7)], 4 * at)
    canvas.width = keys; canvas.height = queries; canvas.getContext('2d').putImageData(pixels, 0, 0)
    small.textContent = part.heads === 1 ? '' : head === null ? 'mean' : head + 1
    button.append(canvas, small)
    button.setAttribute('aria-label', `${part.title || KINDS[kind] + ' ' + (layer + 1)}, ${head === null ? 'mean over heads' : 'head ' + (head + 1)}`)
    button.setAttribute('aria-pressed', state.pick[kind][0] === layer && state.pick[kind][1] === head)
    button.onclick = () => {
      state.pick[kind] = [layer, head]
      expectEcho(state, 'pick', state.pick)
      setStateValue('pick', { ...state.pick })
      draw()
    }
    return button
  }

  // ---- stepping, playing, choosing -----------------------------------------------------------------------------------------------
  const draw = () => {
    if (!svg.isConnected || !svg.clientWidth) return
    drawArcs(); drawNext(); drawHeads()
    play.textContent = state.playing ? '❚❚ Pause' : '▶ Play'
  }
  const light = () => { if (svg.isConnected && svg.clientWidth) { drawArcs(); drawNext() } }
  const stop = () => { clearTimeout(state.timer); state.playing = false }
  const go = step => { state.at = clamp(step, 1, last); state.shown = state.playing ? state.at : Math.max(state.shown, state.at); state.hover = null; draw() }
  const tick = () => {
    if (!state.playing || !root.isConnected) return
    if (state.at >= last) { stop(); draw(); return }
    go(state.at + 1); state.timer = setTimeout(() => state.tick(), STEP_MS)
  }
  state.tick = tick
  const keep = () => { expectEcho(state, 'at', state.at); setStateValue('at', state.at) }
  back.onclick = () => { stop(); go(state.at - 1); keep() }
  forward.onclick = () => { stop(); go(state.at + 1); keep() }
  play.onclick = () => {
    if (state.playing) { stop(); state.shown = last; keep(); return draw() }
    state.playing = true
    if (state.at >= last) state.at = 1
    state.shown = state.at; draw(); state.timer = setTimeout(() => state.tick(), STEP_MS)
  }
  undo.onclick = () => setStateValue('force', { step: 0, word: '' })
  const target = event => { const group = event.target.closest?.('.word'); return group && { side: group.dataset.side, index: Number(group.dataset.index) } }
  svg.onpointermove = event => {
    const on = target(event)
    if (!on || state.playing || (on.side === 'out' && on.index === 0)) return
    if (state.hover?.side !== on.side || state.hover?.index !== on.index) { state.hover = on; light() }
  }
  svg.onpointerleave = () => { if (state.hover && !state.pinned) { state.hover = null; light() } }
  svg.onclick = event => {
    const on = target(event)
    if (on?.side === 'out' && on.index) { stop(); state.pinned = false; state.hover = null; go(on.index); keep() }
    else if (on?.side === 'in') { stop(); state.pinned = true; state.hover = on; light() }
  }
  svg.onkeydown = event => {
    const move = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key]
    if (move) { event.preventDefault(); stop(); go(state.at + move); keep() }
  }
  svg.setAttribute('aria-label', data.label)
  undo.hidden = true
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => draw())
  state.observer.observe(svg)
  draw()
  return () => { clearTimeout(state.timer); state.observer?.disconnect() }
}
