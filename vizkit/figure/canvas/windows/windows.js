// After short, scales, news, windows/pictures.
// One block of a Swin in six steps: grid, roll, windows, mask, attention, roll back. All steps are here, so stepping and
// playing need no round trip; Python gets the step and the place of the chosen token, and sends its window's numbers. The first time
// that a page shows it, it plays by itself, unless its visitor wants no motion.

const STORE = new WeakMap()
let played = false
const LAST = 5, STEP_MS = 220, PLAY_MS = 900, HOLD_MS = 2200
const mix = (a, b, t) => a.map((value, i) => value + (b[i] - value) * t)
const ease = t => t * t * (3 - 2 * t)

export default function ({ data: given, parentElement, setStateValue }) {
  const data = { ...given, image: given.numbers ? null : given.image }   // where all is counted, on plain paper
  const find = name => parentElement.querySelector(name)
  const canvas = find('canvas'), nav = find('nav'), said = find('output'), hint = find('small'), legend = find('p')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  state.key = ''                                       // pictures of another message
  const calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches
  const block = blockOf(data)
  const { rows, columns, R, C, wr, wc, down, right, ids, regions, allowed, weights, n, across, shifted, members, windowOf, home, colour, inside, level: levelAt, chosenWindow } = block
  let token = inside.findIndex(place => ids[place] === data.token)
  const name = id => data.numbers ? `token ${id + 1}` : `row ${Math.floor(id / columns) + 1}, column ${id % columns + 1}`

  const prepare = () => {
    const ratio = window.devicePixelRatio || 1, width = Math.round(canvas.clientWidth * ratio), style = getComputedStyle(canvas)
    const key = [width, style.getPropertyValue('--st-text-color'), state.image?.complete].join('|')
    if (state.key !== key) { state.key = key; state.made = picturesOf(block, data, state.image, width, ratio, style) }
    return state.made
  }

  // ---- where things are --------------------------------------------------------------------------------------------------
  const spots = made => {
    const { width, height, cw, ch, gap, axis, cell, left, top, ratio } = made
    const plain = [(width - C * cw) / 2, (height - R * ch) / 2]
    const open = [(width - (C + (across - 1) * gap) * cw) / 2, (height - (R + (R / wr - 1) * gap) * ch) / 2]
    return {
      plain,
      window: (w, t) => {                             // top left of a window, t: how far the windows have parted
        const column = w % across, row = Math.floor(w / across), start = mix(plain, open, t)
        return [start[0] + (column * wc + column * gap * t) * cw, start[1] + (row * wr + row * gap * t) * ch]
      },
      home: place => { const [r, c] = home(place); return [plain[0] + c * cw, plain[1] + r * ch, cw, ch] },
      parted: (k, t) => { const at = spots(made).window(chosenWindow, t); return [at[0] + k % wc * cw, at[1] + Math.floor(k / wc) * ch, cw, ch] },
      asks: k => [left, top + axis + k * cell, axis - 2 * ratio, cell],
      seen: k => [left + axis + k * cell, top, cell, axis - 2 * ratio],
      matrix: [left + axis, top + axis],
    }
  }

  // ---- drawing: `at` runs from 0 to 5, whole numbers are the steps -----------------------------------------------------------
  const draw = at => {
    if (!canvas.clientWidth || (data.image && !state.image?.complete)) return
    const made = prepare(), { ratio, width, height } = made, where = spots(made)
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height }
    const pen = canvas.getContext('2d')
    pen.clearRect(0, 0, width, height)
    canvas.dataset.at = at
    const step = Math.max(0, Math.ceil(at) - 1), t = ease(at - step)
    if (step === 0) roll(pen, made, where, t)
    else if (step === 1) part(pen, made, where, t, 1)
    else if (step === 2) {
      if (t < 1) part(pen, made, where, 1, 1 - t)
      matrix(pen, made, where, clamp(2 * t - 1, 0, 1), 0)
      if (t > 0) for (const goal of [where.asks, where.seen]) tiles(pen, made, k => mix(where.parted(k, 1), goal(k), t), 1)
    } else if (step === 3) {
      matrix(pen, made, where, 1, t)
      tiles(pen, made, where.asks, 1); tiles(pen, made, where.seen, 1)
    } else back(pen, made, where, t)
    if (at >= 3 && at <= 4) outline(pen, [where.matrix[0] - made.axis, where.matrix[1] + token * made.cell, made.axis + n * made.cell, made.cell], ratio)
  }
  const wrapped = (pen, picture, made, where, t, alpha) => {
    const { cw, ch } = made, tall = (data.pad_first ? R : rows) * ch, wide = (data.pad_first ? C : columns) * cw
    pen.save(); pen.beginPath(); pen.rect(...where.plain, wide, tall); pen.clip(); pen.globalAlpha = alpha
    for (const y of [0, tall]) for (const x of [0, wide])
      pen.drawImage(picture, 0, 0, wide, tall, where.plain[0] - right * t * cw + x, where.plain[1] - down * t * ch + y, wide, tall)
    pen.restore()
  }
  const roll = (pen, made, where, t) => {
    const { cw, ch, ratio } = made, [x, y] = where.plain
    if (!data.pad_first && t > 0) {
      pen.globalAlpha = t
      if (C > columns) made.pad(pen, x + columns * cw, y, (C - columns) * cw, R * ch)
      if (R > rows) made.pad(pen, x, y + rows * ch, columns * cw, (R - rows) * ch)
      pen.globalAlpha = 1
    }
    wrapped(pen, made.grid, made, where, t, 1)
    wrapped(pen, made.edge, made, where, t, 0.35 + 0.65 * t)
    wrapped(pen, made.digits, made, where, t, 1)
    wrapped(pen, made.lines, made, where, t, 1)
    if (t === 0) pen.drawImage(made.before, ...where.plain)
    if (t === 0) outline(pen, where.home(inside[token]), ratio)
    if (t === 1) outline(pen, where.parted(token, 0), ratio)
  }
  const part = (pen, made, where, t, alpha) => {
    const { cw, ch } = made
    for (let w = 0; w < R / wr * across; w++) {
      const [x, y] = where.window(w, t), from = [w % across * wc * cw, Math.floor(w / across) * wr * ch, wc * cw, wr * ch]
      pen.globalAlpha = w === chosenWindow && alpha < 1 ? 0 : alpha
      pen.drawImage(made.rolled, ...from, x, y, wc * cw, wr * ch)
      const whole = pen.globalAlpha
      for (const [picture, share] of [[made.round, 1 - t], [made.tint, t], [made.names, 1]]) {
        pen.globalAlpha = whole * share
        pen.drawImage(picture, ...from, x, y, wc * cw, wr * ch)
      }
      if (t === 1 && shifted) label(pen, made, w, x, y)
    }
    pen.globalAlpha = 1
    if (t === 1 && alpha === 1) chosen(pen, made, where)
  }
  const label = (pen, made, w, x, y) => {             // the number of every region, in the middle of its part of the window
    const { cw, ch, ratio } = made, extents = new Map()
    members(w).forEach((place, k) => {
      const box = extents.get(regions[place]) || [99, 99, -1, -1], r = Math.floor(k / wc), c = k % wc
      extents.set(regions[place], [Math.min(box[0], r), Math.min(box[1], c), Math.max(box[2], r), Math.max(box[3], c)])
    })
    for (const [region, [r0, c0, r1, c1]] of extents) {
      const size = Math.min((r1 - r0 + 1) * ch, (c1 - c0 + 1) * cw, 30 * ratio)
      if (size < 11 * ratio) continue
      const middle = [x + (c0 + c1 + 1) / 2 * cw, y + (r0 + r1 + 1) / 2 * ch], alpha = pen.globalAlpha
      if (data.numbers) { made.write(pen, region, x + (c0 + 0.16) * cw, y + (r0 + 0.18) * ch, 0.22 * cw, '#fff', '#0b0d19'); continue }
      pen.globalAlpha = 0.8 * alpha; pen.fillStyle = '#0b0d19'
      pen.beginPath(); pen.arc(...middle, size * 0.36, 0, 7); pen.fill()
      pen.globalAlpha = alpha; made.write(pen, region, ...middle, size * 0.46, '#fff')
    }
  }
  const tiles = (pen, made, box, alpha) => {
    const { cw, ch } = made
    inside.forEach((place, k) => {
      const to = box(k), from = [place % C * cw, Math.floor(place / C) * ch, cw, ch]
      pen.globalAlpha = alpha
      for (const picture of [made.rolled, made.tint, made.names]) pen.drawImage(picture, ...from, ...to)
    })
    pen.globalAlpha = 1
  }
  const matrix = (pen, made, where, alpha, t) => {
    if (t < 1) { pen.globalAlpha = alpha; pen.drawImage(made.mask, ...where.matrix) }
    if (t > 0) { pen.globalAlpha = alpha * t; pen.drawImage(made.heat, ...where.matrix) }
    pen.globalAlpha = 1
  }
  const back = (pen, made, where, t) => {
    const { ratio, cw, ch } = made
    pen.globalAlpha = t
    pen.drawImage(made.grid, ...where.plain)
    pen.fillStyle = data.image ? 'rgb(8 10 24 / .45)' : 'rgb(0 0 0 / 0)'
    pen.fillRect(...where.plain, columns * cw, rows * ch)
    pen.drawImage(made.digits, ...where.plain)
    pen.globalAlpha = 1
    if (t < 1) { matrix(pen, made, where, 1 - t, 1); tiles(pen, made, where.seen, 1 - t) }
    inside.forEach((place, k) => {
      if (ids[place] < 0 && !data.pad_first && t === 1) return
      const box = mix(where.asks(k), where.home(place), t), level = levelAt(token * n + k)
      pen.drawImage(made.rolled, place % C * cw, Math.floor(place / C) * ch, cw, ch, ...box)
      pen.globalAlpha = t
      if (allowed[token * n + k]) {
        pen.fillStyle = colour(level, 0.35 + 0.5 * level / 255); pen.fillRect(...box)
      } else hatch(pen, ...box, 'rgb(201 205 224 / .75)', 'rgb(20 22 40 / .55)', 5 * ratio)
      if (data.numbers) {
        const paid = allowed[token * n + k] ? '1/' + Math.round(1 / (weights[token * n + k] * data.unit)) : '0'
        made.write(pen, ids[place] + 1, box[0] + box[2] / 2, box[1] + box[3] * 0.4, cw * 0.36, '#fff', '#0b0d19')
        made.write(pen, paid, box[0] + box[2] / 2, box[1] + box[3] * 0.8, cw * 0.22, '#fff', '#0b0d19')
      }
      pen.globalAlpha = 1
    })
    pen.globalAlpha = t
    for (const picture of [made.lines, made.before]) pen.drawImage(picture, ...where.plain)
    pen.globalAlpha = 1
    if (t === 1) outline(pen, where.home(inside[token]), ratio)
  }
  const outline = (pen, box, ratio, ink = '#fff', line = 2.2) => {
    for (const [stroke, width] of [['#0b0d19', line + 2.4], [ink, line]]) { pen.strokeStyle = stroke; pen.lineWidth = width * ratio; pen.strokeRect(...box) }
  }
  const chosen = (pen, made, where) => {
    const at = where.window(chosenWindow, 1)
    outline(pen, [...at, wc * made.cw, wr * made.ch], made.ratio, '#f43f5e', 3)
    outline(pen, where.parted(token, 1), made.ratio)
  }

  // ---- steps ----------------------------------------------------------------------------------------------------------------
  const glide = (from, to, time, then) => {
    cancelAnimationFrame(state.frame); clearTimeout(state.timer)
    if (calm || document.hidden) { state.at = to; state.draw(to); then?.(); return }
    const begun = performance.now()
    const frame = now => {
      const t = clamp((now - begun) / time, 0, 1)
      state.at = from + (to - from) * t
      state.draw(state.at)
      if (t < 1) state.frame = requestAnimationFrame(frame)
      else then?.()
    }
    state.frame = requestAnimationFrame(frame)
  }
  const tell = () => {
    const step = state.step, title = document.createElement('b')
    nav.querySelectorAll('button.step').forEach((button, i) => {
      if (i === step) button.setAttribute('aria-current', 'step')
      else button.removeAttribute('aria-current')
      button.firstChild.textContent = `${i + 1} ${data.steps[i][0]}`
      button.lastChild.textContent = data.steps[i][1]
    })
    nav.querySelector('.play').textContent = state.playing ? '❚❚ Pause' : '▶ Play'
    title.textContent = `${step + 1}  ${data.steps[step][0]}. `
    said.replaceChildren(title, data.steps[step][1])
    legend.hidden = step < 4
  }
  const keep = () => { expectEcho(state, 'step', state.step + 1); setStateValue('step', state.step + 1) }
  const go = (step, play = false) => {                // a far step is reached from the one before it
    const from = Math.abs(step - state.at) <= 1.001 ? state.at : step + (step > state.at ? -1 : 1)
    state.playing = play; state.step = step; state.tell()
    glide(from, step, play ? PLAY_MS : STEP_MS, () => {
      if (!play || !state.playing) return
      if (step < LAST) { state.timer = setTimeout(() => state.go(step + 1, true), HOLD_MS); return }
      state.playing = false; state.tell(); keep()
    })
    if (!play) keep()
  }
  const begin = () => {
    state.draw(state.at)
    if (!played && data.plays && !data.alone && !calm) toggle()
    played = true
  }
  const toggle = () => {
    if (!state.playing) return go(state.step === LAST ? 1 : state.step + 1, true)
    clearTimeout(state.timer); state.playing = false; tell(); keep()
  }

  // ---- tokens ---------------------------------------------------------------------------------------------------------------
  const placeAt = event => {
    if (!state.made) return -1
    const frame = canvas.getBoundingClientRect(), made = state.made, where = spots(made), { cw, ch } = made
    const x = (event.clientX - frame.left) * canvas.width / frame.width, y = (event.clientY - frame.top) * canvas.height / frame.height
    const hit = box => x >= box[0] && x < box[0] + box[2] && y >= box[1] && y < box[1] + box[3]
    if (state.step === 3 || state.step === 4) {
      const k = Math.floor((y - where.matrix[1]) / made.cell)
      return k >= 0 && k < n && x >= where.matrix[0] - made.axis && x < where.matrix[0] + n * made.cell ? inside[k] : -1
    }
    for (let place = 0; place < R * C; place++) {
      const r = Math.floor(place / C), c = place % C, w = windowOf(place)
      const [wx, wy] = where.window(w, state.step === 2 ? 1 : 0)
      if (hit(state.step === 0 || state.step === LAST ? where.home(place) : [wx + c % wc * cw, wy + r % wr * ch, cw, ch]) && (ids[place] >= 0 || state.step > 0)) return place
    }
    return -1
  }
  const pairAt = event => {                             // [query, key] of a cell of the matrix, by their place in the window
    if (state.step !== 3 && state.step !== 4 || !state.made) return null
    const frame = canvas.getBoundingClientRect(), { cell } = state.made, [left, top] = spots(state.made).matrix
    const k = Math.floor(((event.clientY - frame.top) * canvas.height / frame.height - top) / cell)
    const j = Math.floor(((event.clientX - frame.left) * canvas.width / frame.width - left) / cell)
    return k >= 0 && k < n && j >= 0 && j < n ? [k, j] : null
  }
  const called = k => ids[inside[k]] < 0 ? 'padding' : name(ids[inside[k]])
  const describe = (place, pair) => {
    if (pair) {
      const [k, j] = pair, at = k * n + j
      const said = !allowed[at] ? 'masked, −100' : state.step === 3 ? 'may see each other' : percent(weights[at] * data.unit)
      hint.textContent = `${called(k)} → ${called(j)}: ${said}`
      return
    }
    if (place < 0) { hint.textContent = data.alone ? '' : data.hint; return }
    const w = windowOf(place)
    hint.textContent = `${ids[place] < 0 ? 'padding' : name(ids[place])} · window ${w + 1}` + (shifted ? ` · region ${regions[place]}` : '')
  }
  const pick = id => {                                // inside the window all numbers are here already
    const k = inside.findIndex(place => ids[place] === id)
    if (k >= 0) { token = k; draw(state.at) }
    state.token = id
    const [x0, y0, x1, y1] = given.box, share = at => clamp(Math.round(at * 10000) / 10000, 0, 0.9999)
    setStateValue('point', [share(x0 + (id % columns + 0.5) / columns * (x1 - x0)), share(y0 + (Math.floor(id / columns) + 0.5) / rows * (y1 - y0))])
  }
  canvas.onpointermove = event => describe(placeAt(event), pairAt(event))
  canvas.onpointerleave = () => describe(-1)
  canvas.onclick = event => { const place = placeAt(event); if (!data.alone && place >= 0 && ids[place] >= 0) pick(ids[place]) }
  canvas.onkeydown = event => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key]
    if (!by || data.alone) return                     // alone, nobody knows the other windows' weights
    event.preventDefault()
    const row = clamp(Math.floor(state.token / columns) + by[0], 0, rows - 1), column = clamp(state.token % columns + by[1], 0, columns - 1)
    pick(row * columns + column)
  }

  if (nav.childElementCount !== data.steps.length + 1) {
    nav.replaceChildren(...data.steps.map((_, i) => {
      const button = document.createElement('button'), title = document.createElement('b'), words = document.createElement('span')
      button.className = 'step'; button.onclick = () => state.go(i)
      button.append(title, words)
      return button
    }), Object.assign(document.createElement('button'), { className: 'play', onclick: () => state.toggle() }))
  }
  Object.assign(state, { draw, tell, go, toggle, begin, token: data.token })
  if (isNews(state, 'step', data.step)) {
    cancelAnimationFrame(state.frame); clearTimeout(state.timer)
    Object.assign(state, { step: data.step - 1, at: data.step - 1, playing: false })
  }
  canvas.setAttribute('aria-label', data.label)
  showBar(legend.children, data.scale, bytes(data.colours))
  tell(); describe(-1)
  if (!state.resize) { state.resize = new ResizeObserver(() => state.draw(state.at)); state.resize.observe(canvas) }
  if (data.image && state.source !== data.image) {
    state.source = data.image; state.image = new Image(); state.image.onload = () => state.begin(); state.image.src = data.image
  } else state.begin()
}
