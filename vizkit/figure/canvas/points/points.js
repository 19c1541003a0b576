// After short, news.
// Pictures as points of a plane: small pictures where there is room for them, dots elsewhere. A lasso or a click chooses some,
// which Python is told by their numbers from 1, "3 7 12-15". The wheel zooms once the plane has the focus, so that a page scrolls.

const POINTS = new WeakMap()
const PAD = 26, MOST_ZOOM = 60, PICTURE_PX = [20, 60], CLICK_PX = 5, TIP_PX = 112, NAME_PX = 14, AWAY_PX = 22
const BESIDE = [0, 1, -1, 2, -2].flatMap(down => [0, .5, -.5, 1, -1].map(right => [right, down])) // of a name, from the middle of its group

const numbers = (text, count) => {                     // "3 7 12-15", from 1 → indices from 0
  const found = new Set()
  for (const part of text.split(' ').filter(Boolean)) {
    const [first, last] = part.split('-').map(Number)
    for (let at = first; at <= Math.min(last ?? first, count); at++) if (at >= 1) found.add(at - 1)
  }
  return found
}
const written = all => {
  const parts = []
  for (let i = 0; i < all.length; i++) {
    const first = i
    while (all[i + 1] === all[i] + 1) i++
    parts.push(first === i ? `${all[i] + 1}` : `${all[first] + 1}-${all[i] + 1}`)
  }
  return parts.join(' ')
}

export default function ({ data, parentElement, setStateValue }) {
  const find = name => parentElement.querySelector(name)
  const [canvas, tip, said, legend, bar] = ['canvas', 'figure', 'output', 'nav', '.bar'].map(find)
  const state = POINTS.get(parentElement) || { zoom: 1, x: .5, y: .5, mode: '', focus: 0, fingers: new Map() }
  POINTS.set(parentElement, state)
  const { places, names } = data, count = places.length
  state.shown = undefined                              // whose picture stands in the tip may be another's now
  if (isNews(state, 'layout', data.xy)) {              // seen as a whole again
    const xy = new Uint16Array(bytes(data.xy).buffer)
    Object.assign(state, { zoom: 1, x: .5, y: .5, focus: 0, hovered: undefined })
    state.xs = Float32Array.from({ length: count }, (_, i) => xy[2 * i] === 65535 ? NaN : xy[2 * i] / 65534)   // nowhere: never seen, nor found
    state.ys = Float32Array.from({ length: count }, (_, i) => xy[2 * i + 1] / 65534)
    Object.assign(state, { px: new Float32Array(count), py: new Float32Array(count) })
  }
  Object.assign(state, { at: bytes(data.at), table: bytes(data.colours) })
  if (isNews(state, 'chosen', [data.chosen, count])) state.chosen = numbers(data.chosen, count)
  if (state.url !== data.sheet) {
    state.url = data.sheet
    state.sheet = Object.assign(new Image(), { src: data.sheet, onload: () => soon() })
  }
  const colour = at => `rgb(${state.table.slice(3 * at, 3 * at + 3).join(' ')})`

  // ---- where a point lies, in pixels of the page -------------------------------------------------------------------------
  const scale = () => (Math.min(canvas.clientWidth / data.shape[0], canvas.clientHeight / data.shape[1]) - 2 * PAD) * state.zoom
  const left = i => state.px[i], top = i => state.py[i]   // as they were drawn last
  const planeOf = ([x, y]) => [state.x + (x - canvas.clientWidth / 2) / data.shape[0] / scale(), state.y + (y - canvas.clientHeight / 2) / data.shape[1] / scale()]
  const zoom = (by, [x, y] = [canvas.clientWidth / 2, canvas.clientHeight / 2]) => {
    const before = planeOf([x, y])
    state.zoom = clamp(state.zoom * by, 1, MOST_ZOOM)
    const after = planeOf([x, y])
    move(before[0] - after[0], before[1] - after[1])
  }
  const move = (right, down) => {
    Object.assign(state, { x: clamp(state.x + right, 0, 1), y: clamp(state.y + down, 0, 1) })
    soon()
  }

  // ---- drawing: at most once a frame --------------------------------------------------------------------------------------
  const soon = () => { state.frame = state.frame || requestAnimationFrame(() => { state.frame = 0; draw() }) }
  const dots = (pen, seen, radius, ratio) => {         // written pixel by pixel: ten thousand calls that draw would take too long
    const pad = PAD * 2, width = pen.canvas.width + 2 * pad, height = pen.canvas.height + 2 * pad
    if (state.held?.width !== width || state.held.height !== height) state.held = pen.createImageData(width, height)
    const pixels = new Uint32Array(state.held.data.buffer), [red, green, blue] = state.ink.match(/[\d.]+/g).map(Number)
    const shade = mixed => Uint32Array.from({ length: state.table.length / 3 }, (_, at) => {
      const [r, g, b] = state.table.subarray(3 * at, 3 * at + 3)
      return (mixed(b, blue) << 16 | mixed(g, green) << 8 | mixed(r, red)) >>> 0
    })
    const fill = shade(own => own), rim = shade((own, ink) => Math.round(.55 * own + .45 * ink)), stamp = []
    for (let dy = -radius; dy <= radius; dy++) for (let dx = -radius; dx <= radius; dx++) {
      const away = Math.hypot(dx, dy)
      if (away <= radius + .3) stamp.push([dy * width + dx, away > radius - .7])
    }
    const offsets = Int32Array.from(stamp, ([offset]) => offset), edges = Uint8Array.from(stamp, ([, edge]) => edge)
    pixels.fill(0)
    const layer = (all, alpha) => all.forEach(i => {
      const at = Math.round(state.py[i] * ratio + pad) * width + Math.round(state.px[i] * ratio + pad), whole = fill[state.at[i]] | alpha << 24, edge = rim[state.at[i]] | alpha * .8 << 24
      for (let k = 0; k < offsets.length; k++) pixels[at + offsets[k]] = edges[k] ? edge : whole
    })
    layer(state.chosen.size ? seen.filter(i => !state.chosen.has(i)) : seen, state.chosen.size ? 56 : 255)
    if (state.chosen.size) layer(seen.filter(i => state.chosen.has(i)), 255)
    pen.putImageData(state.held, -pad, -pad)
  }
  const draw = () => {
    const width = canvas.clientWidth, height = canvas.clientHeight
    if (!canvas.isConnected || !width) return
    const ratio = window.devicePixelRatio || 1, pen = canvas.getContext('2d'), ink = getComputedStyle(said).color
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) })
    }
    state.ink = ink
    pen.setTransform(1, 0, 0, 1, 0, 0)
    pen.lineJoin = 'round'                             // of every stroke: a new size forgets it
    pen.clearRect(0, 0, canvas.width, canvas.height)
    const across = data.shape[0] * scale(), down = data.shape[1] * scale(), x0 = width / 2 - state.x * across, y0 = height / 2 - state.y * down
    const seen = []
    for (let i = 0; i < count; i++) {
      const x = state.px[i] = x0 + state.xs[i] * across, y = state.py[i] = y0 + state.ys[i] * down
      if (x > -PAD && y > -PAD && x < width + PAD && y < height + PAD) seen.push(i)
    }
    const room = Math.sqrt(width * height / (seen.length || 1)), side = Math.round(Math.min(.72 * room, PICTURE_PX[1]))
    const pictures = side >= PICTURE_PX[0] && state.sheet.complete && state.sheet.naturalWidth, radius = Math.round(clamp(room / 5, 2, 6) * ratio)
    const one = (i, px = side * ratio) => {
      const x = state.px[i] * ratio - px / 2, y = state.py[i] * ratio - px / 2
      cut(pen, i, x, y, px)
      pen.strokeStyle = colour(state.at[i]); pen.lineWidth = 2.5 * ratio
      pen.strokeRect(x, y, px, px)
    }
    if (!pictures) dots(pen, seen, radius, ratio)
    else {
      pen.globalAlpha = state.chosen.size ? .22 : 1
      seen.forEach(i => { if (!state.chosen.has(i)) one(i) })
      pen.globalAlpha = 1
      seen.forEach(i => { if (state.chosen.has(i)) one(i) })
    }
    name(pen, ratio, ink, seen)
    const shown = state.hovered ?? (canvas.matches(':focus-visible') ? state.focus : undefined)
    if (shown !== undefined) {
      const px = (pictures ? side * 1.35 : 4 * radius / ratio) * ratio, rim = px + 5 * ratio
      one(shown, px)
      pen.strokeStyle = ink; pen.lineWidth = 2 * ratio
      pen.strokeRect(state.px[shown] * ratio - rim / 2, state.py[shown] * ratio - rim / 2, rim, rim)
    }
    if (state.lasso?.length > 1) {
      pen.beginPath()
      state.lasso.forEach(([x, y]) => pen.lineTo((x0 + x * across) * ratio, (y0 + y * down) * ratio))
      pen.closePath()
      pen.setLineDash([5 * ratio, 4 * ratio]); pen.strokeStyle = ink; pen.lineWidth = 1.5 * ratio; pen.stroke(); pen.setLineDash([])
      pen.globalAlpha = .08; pen.fillStyle = ink; pen.fill(); pen.globalAlpha = 1
    }
    tell(shown)
    Object.assign(canvas.dataset, { zoom: state.zoom.toFixed(2), seen: seen.length, drawn: pictures ? 'pictures' : 'dots', chosen: state.chosen.size })
  }
  const name = (pen, ratio, ink, seen) => {             // the groups, the largest first: where fewest points are covered, none over another
    const taken = []
    Object.assign(pen, { font: `600 ${NAME_PX * ratio}px ${getComputedStyle(said).fontFamily}`, textAlign: 'center', textBaseline: 'middle', lineWidth: 4 * ratio })
    for (const [words, i] of data.groups) {
      const wide = pen.measureText(words).width / ratio, half = wide / 2 + 4
      if (left(i) < 0 || left(i) > canvas.clientWidth || top(i) < 0 || top(i) > canvas.clientHeight) continue
      const near = seen.filter(each => Math.hypot(left(each) - left(i), top(each) - top(i)) < half + 2 * AWAY_PX)
      const free = BESIDE.flatMap(([right, down]) => {
        const x = half > canvas.clientWidth / 2 ? canvas.clientWidth / 2 : clamp(left(i) + right * (half + AWAY_PX), half, canvas.clientWidth - half)
        const y = clamp(top(i) + down * AWAY_PX, NAME_PX, canvas.clientHeight - NAME_PX)
        if (taken.some(([x0, y0, half0]) => Math.abs(x - x0) < half + half0 && Math.abs(y - y0) < 1.3 * NAME_PX)) return []
        const covered = near.filter(each => Math.abs(left(each) - x) < half && Math.abs(top(each) - y) < NAME_PX / 1.5)
        return [[covered.length + Math.hypot(right, down) / 2, x, y]]
      })
      if (!free.length) continue
      const [, x, y] = free.reduce((best, each) => each[0] < best[0] ? each : best)
      taken.push([x, y, half])
      pen.strokeStyle = getComputedStyle(canvas).backgroundColor; pen.strokeText(words, x * ratio, y * ratio)
      pen.fillStyle = ink; pen.fillText(words, x * ratio, y * ratio)
    }
    canvas.dataset.named = taken.length
  }
  const cut = (pen, i, x, y, px) => {                   // a picture of the sheet
    const side = data.sheet_px, columns = Math.round(state.sheet.naturalWidth / side)
    pen.drawImage(state.sheet, i % columns * side, Math.floor(i / columns) * side, side, side, x, y, px, px)
  }
  const tell = shown => {
    tip.hidden = shown === undefined
    const few = state.chosen.size, how = data.alone ? '' : 'Draw around images, or click one, to see them with their maps.'
    said.textContent = shown === undefined ? (few ? `${few.toLocaleString('en')} of ${count.toLocaleString('en')} images chosen.` : how) : `${places[shown]}: ${data.words[shown]}`
    clear.hidden = !few
    if (shown === undefined) return
    const [photo, words] = tip.children, wide = canvas.clientWidth, x = left(shown), y = top(shown)
    if (state.shown !== shown || !photo.width) {
      Object.assign(photo, { width: data.sheet_px, height: data.sheet_px })
      cut(photo.getContext('2d'), shown, 0, 0, data.sheet_px)
      words.textContent = data.words[shown]
      state.shown = shown
    }
    tip.style.left = clamp(x + (x > wide / 2 ? -TIP_PX - 34 : 34), 0, wide - TIP_PX) + 'px'
    tip.style.top = clamp(y - TIP_PX / 2, 0, canvas.clientHeight - 1.6 * TIP_PX) + 'px'
  }

  // ---- choosing -----------------------------------------------------------------------------------------------------------
  const choose = (found, added) => {
    if (data.alone) return
    let all = [...new Set(added ? [...state.chosen, ...found] : found)].sort((a, b) => a - b)
    const step = Math.ceil(all.length / data.most)     // of very many every so-manieth: what is framed is what is shown
    all = all.filter((_, i) => i % step === 0)
    state.chosen = new Set(all)
    expectEcho(state, 'chosen', [written(all), count])
    setStateValue('chosen', written(all))
    soon()
  }
  const click = (i, added) => {
    if (i === undefined) return added ? undefined : choose([])
    state.focus = i
    if (!added) return choose(state.chosen.size === 1 && state.chosen.has(i) ? [] : [i])
    choose(state.chosen.has(i) ? [...state.chosen].filter(other => other !== i) : [...state.chosen, i])
  }
  const nearest = ([x, y], within = 24) => {
    let best, least = within * within
    for (let i = 0; i < count; i++) {
      const away = (left(i) - x) ** 2 + (top(i) - y) ** 2
      if (away < least) { least = away; best = i }
    }
    return best
  }
  const inside = i => {
    let odd = false
    const x = state.xs[i], y = state.ys[i], path = state.lasso
    for (let a = 0, b = path.length - 1; a < path.length; b = a++) {
      const [xa, ya] = path[a], [xb, yb] = path[b]
      if ((ya > y) !== (yb > y) && x < (xb - xa) * (y - ya) / (yb - ya) + xa) odd = !odd
    }
    return odd
  }

  // ---- mouse, finger, keys ------------------------------------------------------------------------------------------------
  const placeOf = event => {
    const frame = canvas.getBoundingClientRect()
    return [event.clientX - frame.left, event.clientY - frame.top]
  }
  canvas.onpointerdown = event => {
    if (event.pointerType !== 'mouse' && !state.mode) return    // a finger scrolls the page until a button says what it does
    state.fingers.set(event.pointerId, placeOf(event))
    canvas.setPointerCapture(event.pointerId)
    const moving = state.mode === 'move' || event.button === 1
    Object.assign(state, { start: placeOf(event), far: false, moving, lasso: moving || data.alone ? null : [planeOf(placeOf(event))] })
  }
  canvas.onpointermove = event => {
    const at = placeOf(event), before = state.fingers.get(event.pointerId)
    if (!before) {
      const found = nearest(at)
      if (found !== state.hovered) { state.hovered = found; soon() }
      return
    }
    state.far = state.far || Math.hypot(at[0] - state.start[0], at[1] - state.start[1]) > CLICK_PX
    const other = [...state.fingers].find(([id]) => id !== event.pointerId)?.[1]
    state.hovered = undefined
    if (state.moving) {
      if (other) zoom(Math.hypot(at[0] - other[0], at[1] - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1])), other)
      const then = planeOf(before), now = planeOf(at)
      if (!other) move(then[0] - now[0], then[1] - now[1])
    } else state.lasso?.push(planeOf(at))
    state.fingers.set(event.pointerId, at)
    soon()
  }
  canvas.onpointerup = event => {
    if (!state.fingers.delete(event.pointerId)) return
    const added = event.shiftKey || event.ctrlKey || event.metaKey, { far, lasso } = state
    state.moving = false
    if (far && lasso) choose(places.map((_, i) => i).filter(inside), added)
    state.lasso = null
    if (!far) click(nearest(placeOf(event)), added)
    soon()
  }
  canvas.onpointercancel = event => { state.fingers.delete(event.pointerId); state.lasso = null; soon() }
  canvas.onpointerleave = () => { state.hovered = undefined; soon() }
  canvas.onclick = event => { if (event.pointerType === 'touch' && !state.mode) click(nearest(placeOf(event))) }
  canvas.onfocus = canvas.onblur = () => soon()
  canvas.onwheel = event => {
    if (!canvas.matches(':focus') && !event.ctrlKey) return
    event.preventDefault()
    zoom(Math.exp(-event.deltaY / 500), placeOf(event))
  }
  canvas.onkeydown = event => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key]
    const act = { '+': () => zoom(1.5), '-': () => zoom(1 / 1.5), 0: whole, Escape: () => choose([]), Enter: () => click(state.focus, true), ' ': () => click(state.focus, true) }[event.key]
    if (!step && !act) return
    event.preventDefault()
    state.hovered = undefined
    if (act) return act()
    let least = Infinity, best = state.focus
    const x = left(best), y = top(best), from = best
    for (let i = 0; i < count; i++) {                  // the next one that way, those far to the side last
      const along = (left(i) - x) * step[0] + (top(i) - y) * step[1], aside = Math.abs((left(i) - x) * step[1]) + Math.abs((top(i) - y) * step[0])
      if (i !== from && along > 1 && along + 3 * aside < least) { least = along + 3 * aside; best = i }
    }
    state.focus = best
    const [px, py] = [left(best), top(best)]           // never out of sight
    if (px < PAD || py < PAD || px > canvas.clientWidth - PAD || py > canvas.clientHeight - PAD) Object.assign(state, { x: state.xs[best], y: state.ys[best] })
    soon()
  }
  const whole = () => { Object.assign(state, { zoom: 1, x: .5, y: .5 }); soon() }

  // ---- what stands around it ----------------------------------------------------------------------------------------------
  const button = (words, act, title) => Object.assign(document.createElement('button'), { type: 'button', textContent: words, title, onclick: act })
  const modes = [['lasso', 'Lasso', 'Drag around images to choose them; with shift, further ones'], ['move', 'Move', 'Drag the plane; two fingers zoom']].map(([mode, words, title]) => {
    const made = button(words, () => { state.mode = state.mode === mode ? '' : mode; pressed() }, title)
    made.dataset.mode = mode
    return made
  })
  const pressed = () => {
    modes.forEach(made => made.setAttribute('aria-pressed', made.dataset.mode === state.mode))
    canvas.style.touchAction = state.mode ? 'none' : 'manipulation'
    canvas.style.cursor = state.mode === 'move' ? 'grab' : 'crosshair'
  }
  const clear = button('Choose none', () => choose([]), 'Choose none (Escape)')
  const zooms = [['+', () => zoom(1.5), 'Nearer (+)'], ['−', () => zoom(1 / 1.5), 'Farther (−)'], ['Whole', whole, 'All of it (0)']].map(each => button(...each))
  bar.replaceChildren(...(data.alone ? modes.slice(1) : modes), ...zooms, clear)
  pressed()
  legend.replaceChildren(...names.map((name, at) => {
    const made = button(name, () => choose(places.map((_, i) => i).filter(i => state.at[i] === at)), `Choose all: ${name}`), swatch = document.createElement('i')
    swatch.style.background = colour(at)
    made.prepend(swatch)
    return made
  }))
  if (!names.length) {
    const ramp = document.createElement('i'), last = state.table.length / 3 - 1
    ramp.className = 'ramp'
    ramp.style.background = `linear-gradient(90deg, ${Array.from({ length: 9 }, (_, i) => colour(Math.round(last * i / 8))).join(', ')})`
    legend.replaceChildren(data.ends[0], ramp, data.ends[1])
  }
  legend.dataset.quantity = data.quantity
  canvas.setAttribute('aria-label', `${data.label}. Arrow keys go from image to image, Enter chooses.`)
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => soon())
  state.observer.observe(canvas)
  draw()
  return () => state.observer?.disconnect()
}
