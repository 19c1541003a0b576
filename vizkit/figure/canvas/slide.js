// After news.
// A kernel walks over a small picture. Every product and every sum is computed here, so playing, stepping, hovering and the
// sliders need no Python; Python sends pixels, kernels and PyTorch's output, and is sent an edited kernel, the chosen place
// and, once they rest, the values of the sliders, under the names of the view's fields.

const STORE = new WeakMap()
const PLAY_MS = 14000, REST_MS = 350, KEY = '#f59e0b', DARK = '#0b0d19', RGB = ['red', 'green', 'blue']
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0))
const floats = text => text ? new Float32Array(bytes(text).buffer) : null
const clamp = (value, low, high) => Math.min(high, Math.max(low, value))
const number = (value, digits) => {
  const most = digits ?? (Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 1 : 2)
  return String(Number(value.toFixed(most))).replace('-', '−')
}

// ---- the walk: what is under the window, and the output everywhere -----------------------------------------------------------
function walkOf(data, [f, stride, padding, dilation], kernel) {
  const input = floats(data.input), [channels, height, width] = data.input_size, { kind, bias } = data
  const [rows, columns] = [height, width].map(side => Math.floor((side + 2 * padding - dilation * (f - 1) - 1) / stride) + 1)
  const spot = (at, k) => {                              // of cell k of the window at output `at`: its row and column in the picture
    const y = Math.floor(at / columns) * stride - padding + Math.floor(k / f) * dilation
    const x = at % columns * stride - padding + k % f * dilation
    return [y, x, y >= 0 && x >= 0 && y < height && x < width]
  }
  const pixel = (at, k, c) => { const [y, x, inside] = spot(at, k); return inside ? input[(c * height + y) * width + x] : 0 }
  const product = (at, k, c) => kernel ? pixel(at, k, c) * kernel[c * f * f + k] : 0
  const cells = [...Array(f * f).keys()]
  const winner = at => cells.filter(k => spot(at, k)[2]).reduce((best, k) => pixel(at, k, 0) > pixel(at, best, 0) ? k : best, cells.find(k => spot(at, k)[2]))
  const sum = (at, c) => cells.reduce((total, k) => total + product(at, k, c), 0)
  const value = at => kind === 'max' ? pixel(at, winner(at), 0)
    : [...Array(channels).keys()].reduce((total, c) => total + sum(at, c), bias)
  const output = Float64Array.from({ length: rows * columns }, (_, at) => value(at))
  const weights = kernel ? kernel.reduce((a, b) => a + b, 0) : 1, picture = data.picture_again !== null && weights > data.picture_again
  return { input, channels, height, width, rows, columns, f, stride, padding, dilation, kind, bias, kernel, spot, pixel, product, winner, sum, output,
    count: rows * columns, most: output.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1, white: picture ? 255 * Math.max(1, weights) : null }
}

export default function ({ data, parentElement, setStateValue }) {
  const find = name => parentElement.querySelector(name)
  const root = find('.slide'), input = find('.input'), output = find('.output'), cells = find('.cells'), picks = find('.channels'), total = find('.total')
  const [back, play, next] = root.querySelectorAll('.controls button'), undo = find('.undo')
  const state = STORE.get(parentElement) || { channel: 0 }
  STORE.set(parentElement, state)
  const known = steps => String(steps[0]) in data.kernels
  const begin = (steps, kernel, edited) => {             // another picture, kernel or step: everything is computed anew
    cancelAnimationFrame(state.frame)
    const kept = state.walk, walk = walkOf(data, steps, kernel)
    const [y, x] = kept ? [Math.floor(state.at / kept.columns), state.at % kept.columns] : data.at
    Object.assign(state, { walk, steps, edited, playing: false, filled: walk.count, hover: null, shades: null, sheet: null, result: null })
    state.at = clamp(y, 0, walk.rows - 1) * walk.columns + clamp(x, 0, walk.columns - 1)
    state.channel = clamp(state.channel, 0, walk.channels - 1)
  }
  if (String(state.steps) === String(data.steps)) state.moved = false
  if (!state.moved) state.told = [...data.steps]          // what Python knows of the sliders
  const moving = state.moved && state.kind === data.kind && known(state.steps)   // sliders go on while Python follows
  const others = isNews(state, 'others', [data.input, data.input_size, data.kernels, data.kind, data.bias, data.picture_again])
  if (others || !moving && String(state.steps) !== String(data.steps)) {
    const steps = moving ? state.steps : data.steps
    if (!moving) { clearTimeout(state.timer); state.moved = false }
    state.kind = data.kind
    begin(steps, floats(data.kernels[steps[0]]), false)
  }
  if (!moving && isNews(state, 'at', data.at)) state.at = data.at[0] * state.walk.columns + data.at[1]
  const w = () => state.walk, size = () => w().f ** 2
  const signed = bytes(data.signed), shade = value => { const at = 3 * Math.round(clamp(127.5 + 127.5 * value, 0, 255)); return [signed[at], signed[at + 1], signed[at + 2]] }
  const calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches
  const now = () => state.hover ?? (state.filled < w().count ? Math.max(0, state.filled - 1) : state.at)
  const place = at => `row ${Math.floor(at / w().columns) + 1}, column ${at % w().columns + 1}`
  const worth = value => number(value, data.digits || undefined)

  // ---- drawing ---------------------------------------------------------------------------------------------------------------
  const grid = () => [w().height + 2 * w().padding, w().width + 2 * w().padding]
  const ready = (canvas, rows) => {
    const ratio = window.devicePixelRatio || 1, wide = canvas.clientWidth, cell = wide / grid()[1], tall = Math.max(1, rows * cell)
    const [a, b] = [Math.round(wide * ratio), Math.round(tall * ratio)]
    if (canvas.width !== a || canvas.height !== b) { canvas.width = a; canvas.height = b; canvas.style.height = tall + 'px' }
    const pen = canvas.getContext('2d')
    pen.setTransform(ratio, 0, 0, ratio, 0, 0); pen.clearRect(0, 0, wide, tall); pen.imageSmoothingEnabled = false
    return [pen, cell]
  }
  const painted = (columns, rows, colour) => {           // one pixel for each cell
    const sheet = document.createElement('canvas'), pixels = new ImageData(columns, rows)
    sheet.width = columns; sheet.height = rows
    for (let at = 0; at < columns * rows; at++) pixels.data.set([...colour(at), 255], 4 * at)
    sheet.getContext('2d').putImageData(pixels, 0, 0)
    return sheet
  }
  const frame = (pen, x, y, a, b) => {
    for (const [ink, line] of [[DARK, 4.5], [KEY, 2.2]]) { pen.strokeStyle = ink; pen.lineWidth = line; pen.strokeRect(x, y, a, b) }
  }
  const lines = (pen, cell, x, y, columns, rows) => {
    if (cell < 6) return
    pen.strokeStyle = 'rgb(128 132 150 / .35)'; pen.lineWidth = 0.5; pen.beginPath()
    for (let c = 0; c <= columns; c++) { pen.moveTo(x + c * cell, y); pen.lineTo(x + c * cell, y + rows * cell) }
    for (let r = 0; r <= rows; r++) { pen.moveTo(x, y + r * cell); pen.lineTo(x + columns * cell, y + r * cell) }
    pen.stroke()
  }
  const drawInput = () => {
    const { height, width, padding: p, f, stride, dilation, columns } = w(), [rows, across] = grid(), [pen, cell] = ready(input, rows), at = now()
    if (p) { pen.fillStyle = 'rgb(128 132 150 / .28)'; pen.fillRect(0, 0, across * cell, rows * cell) }
    const rgb = state.shades ||= bytes(data.shades)
    pen.drawImage(state.sheet ||= painted(width, height, k => rgb.subarray(3 * k, 3 * k + 3)), p * cell, p * cell, width * cell, height * cell)
    lines(pen, cell, 0, 0, across, rows)
    const y = Math.floor(at / columns) * stride, x = at % columns * stride, span = dilation * (f - 1) + 1
    pen.fillStyle = 'rgb(245 158 11 / .22)'
    for (let k = 0; k < size(); k++) {
      const box = [(x + k % f * dilation) * cell, (y + Math.floor(k / f) * dilation) * cell, cell, cell]
      pen.fillRect(...box)
      if (dilation > 1) { pen.strokeStyle = KEY; pen.lineWidth = 1.2; pen.strokeRect(...box) }
    }
    frame(pen, x * cell, y * cell, span * cell, span * cell)
  }
  const drawOutput = () => {
    const { rows, columns, count, most, output: values } = w(), [pen, cell] = ready(output, rows), at = now()
    const grey = value => { const level = clamp(Math.round(value * 255 / w().white), 0, 255); return [level, level, level] }
    const sheet = state.result ||= painted(columns, rows, k => w().white ? grey(values[k]) : shade(values[k] / most))
    pen.fillStyle = 'rgb(128 132 150 / .15)'; pen.fillRect(0, 0, columns * cell, rows * cell)
    const whole = Math.floor(state.filled / columns), rest = state.filled % columns
    if (whole) pen.drawImage(sheet, 0, 0, columns, whole, 0, 0, columns * cell, whole * cell)
    if (rest) pen.drawImage(sheet, 0, whole, rest, 1, 0, whole * cell, rest * cell, cell)
    lines(pen, cell, 0, 0, columns, rows)
    frame(pen, at % columns * cell, Math.floor(at / columns) * cell, cell, cell)
    Object.assign(root.dataset, { at: `${Math.floor(at / columns)},${at % columns}`, value: values[at], filled: state.filled, count, difference: state.difference ?? '' })
  }
  const drawNumbers = () => {
    const { kind, channels, bias } = w(), at = now(), c = state.channel, best = kind === 'max' ? w().winner(at) : -1
    const n = size(), most = [...Array(n).keys()].reduce((top, k) => Math.max(top, Math.abs(w().product(at, k, c))), 0) || 1
    for (let k = 0; k < size(); k++) {
      const box = cells.children[k], [pixel, weight, result] = [box.firstChild, box.querySelector('input'), box.lastChild]
      const value = w().pixel(at, k, c), inside = w().spot(at, k)[2], product = w().product(at, k, c)
      pixel.textContent = inside || kind !== 'max' ? worth(value) : '–'
      box.classList.toggle('outside', !inside); box.classList.toggle('best', k === best)
      if (kind === 'max') continue
      if (document.activeElement !== weight && parentElement.activeElement !== weight) weight.value = (data.editable ? '' : '× ') + number(w().kernel[c * n + k], data.digits || 2)
      result.textContent = '= ' + worth(product)
      box.style.setProperty('--tint', `rgb(${shade(.75 * Math.sign(product)).join(' ')})`)
      box.style.setProperty('--much', `${50 * Math.abs(product) / most}%`)
    }
    const value = w().output[at], each = [...Array(channels).keys()].map(channel => w().sum(at, channel))
    const shift = bias ? ` ${bias < 0 ? '−' : '+'} ${worth(Math.abs(bias))} (bias)` : ''
    total.textContent = kind === 'max' ? `the largest of ${n} = ${worth(value)}`
      : channels > 1 ? `${each.map(worth).join(' + ').replaceAll('+ −', '− ')}${shift} = ${worth(value)}` : `Σ of ${n} products${shift} = ${worth(value)}`
    ;[...picks.children].forEach((button, i) => { button.setAttribute('aria-pressed', i === c); button.textContent = `${RGB[i]} Σ = ${worth(each[i])}` })
    find('.where').textContent = place(at)
    find('.middle h4').firstChild.textContent = kind === 'max' ? 'Pixels' : 'Pixel × weight'
    root.dataset.sum = kind === 'max' ? value : each.reduce((a, b) => a + b, bias)
  }
  const draw = () => {
    if (!input.isConnected || !input.clientWidth) return
    drawInput(); drawOutput(); drawNumbers()
    play.textContent = state.playing ? '❚❚ Pause' : '▶ Play'
    play.hidden = calm
  }

  // ---- playing, stepping, choosing ---------------------------------------------------------------------------------------------
  const stop = () => { cancelAnimationFrame(state.frame); state.playing = false }
  const tick = time => {
    if (!state.playing || !root.isConnected) return
    const share = clamp(state.share + (time - state.begun) / PLAY_MS, 0, 1)
    const filled = Math.max(1, Math.floor(w().count * share ** 2.5))   // the first places slowly, the last ones fast
    if (filled !== state.filled) { state.filled = filled; state.at = filled - 1; state.draw() }
    if (share < 1) { state.frame = requestAnimationFrame(time => state.tick(time)); return }
    stop(); state.draw()
  }
  const toggle = () => {
    if (state.playing) { stop(); return draw() }
    if (state.filled >= w().count) state.filled = 0
    Object.assign(state, { playing: true, hover: null, begun: performance.now(), share: (state.filled / w().count) ** 0.4 })
    tick(state.begun)
  }
  const choose = (at, report = true) => {
    stop(); state.at = clamp(at, 0, w().count - 1); state.hover = null; state.filled = w().count; draw()
    if (!report) return
    const place = [Math.floor(state.at / w().columns), state.at % w().columns]
    expectEcho(state, 'at', place)
    setStateValue('place', place)
  }
  const step = by => {                                   // while the output grows, a step adds a number to it
    stop(); state.hover = null
    if (state.filled < w().count) { state.filled = clamp(state.filled + by, 1, w().count); state.at = state.filled - 1 } else state.at = (state.at + by + w().count) % w().count
    draw()
  }
  const under = (event, canvas) => {
    const box = canvas.getBoundingClientRect(), cell = canvas.clientWidth / grid()[1], { rows, columns, stride, dilation, f } = w()
    let [y, x] = [(event.clientY - box.top) / cell, (event.clientX - box.left) / cell].map(Math.floor)
    if (canvas === input) [y, x] = [y, x].map(v => Math.round((v - dilation * (f - 1) / 2) / stride))   // the window around it
    else if (y >= rows || x >= columns) return null
    return clamp(y, 0, rows - 1) * columns + clamp(x, 0, columns - 1)
  }
  for (const canvas of [input, output]) {
    canvas.onpointermove = event => { if (!state.playing && event.pointerType !== 'touch') { state.hover = under(event, canvas); draw() } }
    canvas.onpointerleave = () => { state.hover = null; draw() }
    canvas.onclick = event => { const at = under(event, canvas); if (at !== null) choose(at) }
    canvas.onkeydown = event => {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -w().columns, ArrowDown: w().columns }[event.key]
      if (event.key === ' ' && !calm) { event.preventDefault(); return toggle() }
      if (by) { event.preventDefault(); if (state.at + by >= 0 && state.at + by < w().count) choose(state.at + by) }
    }
    canvas.setAttribute('aria-label', `${canvas === input ? 'Input' : 'Output'} of ${data.label}. Use the arrow keys.`)
  }
  back.onclick = () => step(-1); next.onclick = () => step(1); play.onclick = toggle
  undo.hidden = !data.edited; undo.onclick = () => { if (data.alone) { begin(state.steps, floats(data.kernels[state.steps[0]]), false); arrange(); draw() } setStateValue('numbers', '') }

  // ---- the sliders -------------------------------------------------------------------------------------------------------------
  const sizes = Object.keys(data.kernels).map(Number), pool = data.kind !== 'convolution', [mostStride, mostPadding, mostDilation] = data.most
  const ranges = f => [[sizes[0], sizes.at(-1), sizes.length > 1 ? sizes[1] - sizes[0] : 1], [1, mostStride, 1], [0, pool ? Math.floor(f / 2) : mostPadding, 1], [1, mostDilation, 1]]
  const slid = (which, value) => {
    const steps = [...state.steps]
    steps[which] = value
    steps[2] = clamp(steps[2], 0, ranges(steps[0])[2][1])
    begin(steps, steps[0] === state.steps[0] ? w().kernel : floats(data.kernels[steps[0]]), which > 0 && state.edited)
    clearTimeout(state.timer)
    state.moved = true
    state.timer = setTimeout(() => data.names.forEach((name, at) => { if (state.steps[at] !== state.told[at]) setStateValue(name, state.told[at] = state.steps[at]) }), REST_MS)
    arrange(); draw()
  }
  const knobs = find('.sliders')
  if (!knobs.children.length) {
    knobs.replaceChildren(...['Size f', 'Stride s', 'Padding p', 'Dilation d'].map((name, which) => {
      const label = document.createElement('label'), said = document.createElement('span'), knob = Object.assign(document.createElement('input'), { type: 'range' })
      said.append(`${name} `, document.createElement('b'))
      knob.setAttribute('aria-label', name)
      knob.oninput = () => state.slid(which, Number(knob.value))
      label.append(said, knob)
      return label
    }))
  }

  // ---- the cells of the window: pixel × weight = product -----------------------------------------------------------------------
  const compare = () => {                                // PyTorch's output is there once the sliders rest
    const rests = String(state.steps) === String(data.steps) && !state.edited, expected = rests ? floats(data.expected) : null
    state.difference = expected ? w().output.reduce((far, v, i) => Math.max(far, Math.abs(v - expected[i])), 0) / w().most : null
    const proof = find('.proof'), holds = state.difference !== null && state.difference <= 1e-5
    proof.className = `proof ${holds || !expected ? 'holds' : ''}`
    proof.textContent = expected
      ? (holds ? '✓ ' : '✗ ') + `All ${w().count} numbers of the output, computed here, are PyTorch’s${state.difference ? ` to within ${state.difference.toExponential(0)} of the largest` : ' exactly'}.`
      : data.alone ? `${w().count} numbers, computed here.` : `… ${w().count} numbers computed here; PyTorch’s follow.`
  }
  const arrange = () => {                                // all that changes with the steps and not with the place
    const { f, stride, padding, dilation, rows, columns, height, output: values } = w(), n = size(), shape = `${f} ${data.kind === 'max'}`
    if (cells.dataset.shape !== shape) {
      cells.dataset.shape = shape
      cells.style.setProperty('--f', f)
      cells.replaceChildren(...[...Array(n).keys()].map(k => {
        const box = document.createElement('div'), pixel = document.createElement('span'), result = document.createElement('b')
        if (data.kind === 'max') { box.append(pixel); return box }
        const weight = Object.assign(document.createElement('input'), { inputMode: 'decimal', autocomplete: 'off' })
        weight.setAttribute('aria-label', `Weight in row ${Math.floor(k / f) + 1}, column ${k % f + 1}`)
        box.append(pixel, weight, result)
        return box
      }))
    }
    ;[...cells.children].forEach((box, k) => {
      const weight = box.querySelector('input')
      if (!weight) return
      weight.readOnly = !data.editable
      weight.onchange = () => {
        const value = Number(weight.value.replace('−', '-').replace(',', '.'))
        if (!Number.isFinite(value) || Math.abs(value) > 1e4 || weight.value.trim() === '') return draw()
        const kernel = Array.from(w().kernel); kernel[k] = value
        begin(state.steps, Float32Array.from(kernel), true); arrange(); draw()
        setStateValue('numbers', `${data.kernel}:${kernel.map(v => Number(v.toPrecision(6)))}`)
      }
    })
    ;[...knobs.children].forEach((label, which) => {
      const knob = label.querySelector('input'), [low, high, step] = ranges(f)[which]
      Object.assign(knob, { min: low, max: high, step, value: state.steps[which] })
      knob.style.setProperty('--share', high > low ? (state.steps[which] - low) / (high - low) : 0)
      label.querySelector('b').textContent = state.steps[which]
      label.hidden = low === high
    })
    const ends = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))].map(v => String(Number(v.toPrecision(4))).replace('-', '−'))
    find('.shapes').textContent = `${rows} × ${columns} numbers, ${ends.join(' to ')}` + (w().white ? '' : ': blue below 0, red above')
    find('.formula').textContent = `H′ = ⌊(H + 2p − d(f − 1) − 1) / s⌋ + 1 = ⌊(${height} + 2·${padding} − ${dilation}·(${f} − 1) − 1) / ${stride}⌋ + 1 = ${rows}`
    compare()
  }
  const strip = find('.strip'), set = data.filters
  if (isNews(state, 'strip', [set && [set.values, set.count]])) strip.replaceChildren(...[...Array(set ? set.count : 0).keys()].map(k => {
    const values = floats(set.values), each = values.length / set.count, own = values.subarray(k * each, (k + 1) * each), { channels } = w(), f = Math.sqrt(each / channels)
    const most = own.reduce((top, v) => Math.max(top, Math.abs(v)), 0) || 1, level = (c, i) => clamp(Math.round(127.5 + 127.5 * own[(channels === 3 ? c : 0) * f * f + i] / most), 0, 255)
    const tile = painted(f, f, i => [0, 1, 2].map(c => level(c, i)))
    tile.tabIndex = 0; tile.setAttribute('role', 'button'); tile.setAttribute('aria-label', `Filter ${k + 1} of ${set.names}`)
    tile.onclick = () => setStateValue('filter', k + 1)
    tile.onkeydown = event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); tile.onclick() } }
    return tile
  }))
  strip.inert = Boolean(data.alone)
  ;[...strip.children].forEach((tile, k) => tile.setAttribute('aria-pressed', k === set.chosen))
  picks.replaceChildren(...(w().channels > 1 ? RGB : []).map((_, c) => Object.assign(document.createElement('button'), { onclick: () => { state.channel = c; draw() } })))
  Object.assign(state, { draw, tick, slid })
  arrange(); draw()
  if (!state.resize) { state.resize = new ResizeObserver(() => state.draw()); state.resize.observe(input) }
}
