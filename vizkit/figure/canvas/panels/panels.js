// After short, scales, news.
// One picture in several panels, each with frames, or a map laid over it. What is pointed at, a frame or a place, is
// shown in all of them; a click keeps it. figure/detection/on_picture.py draws the same on paper.

const STORE = new WeakMap()
// Below NARROW pixels words of all frames would hide the image. Those without a name, and all others while one is pointed at, stand back.
const INK = '#f59e0b', UNDER = 'rgb(0 0 0 / .65)', NARROW = 420, BEHIND = .35, NOTE = ' · ', HIGH = 17

export default function ({ data, parentElement, setStateValue }) {
  const find = name => parentElement.querySelector(name), root = find('.panels'), row = find('.row'), says = find('.says'), strip = find('.strip')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  if (isNews(state, 'chosen', data.chosen)) state.chosen = data.chosen
  state.over = null
  const [height, width] = data.size, colours = bytes(data.colours), [rows, columns] = data.grid
  const make = (tag, props = {}, ...inner) => { const made = Object.assign(document.createElement(tag), props); made.append(...inner); return made }
  const sections = row.getElementsByTagName('section')
  while (sections.length > data.panels.length) sections[sections.length - 1].remove()
  while (sections.length < data.panels.length) says.before(make('section', {}, make('p'), make('canvas'), make('small', {}, make('u'), make('span'), make('i'), make('span'))))
  row.style.setProperty('--count', data.panels.length)
  row.classList.toggle('large', data.large)
  if (state.image?.src !== data.image) state.image = Object.assign(new Image(), { src: data.image })  // else kept, so that nothing flickers
  state.image.onload = () => draw()
  const regions = data.panels.map(panel => panel.regions.map(each => ({ ...each, which: bytes(each.values) })))

  const shown = () => state.over ?? state.chosen
  const place = heats => heats ? heats.ids.indexOf(shown()) : -1
  const heat = ({ values, grid }, at) => {
    const map = make('canvas', { width: grid[1], height: grid[0] }), pixels = new ImageData(grid[1], grid[0]), count = grid[0] * grid[1]
    bytes(values).subarray(at * count, (at + 1) * count).forEach((value, i) =>
      pixels.data.set([...colours.subarray(3 * value, 3 * value + 3), 255 * (data.floor + (data.ceiling - data.floor) * value / 255)], 4 * i))
    map.getContext('2d').putImageData(pixels, 0, 0)
    return map
  }
  const rgbOf = colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16))
  const behind = id => data.pick === 'box' && state.over !== null && id !== shown()
  const region = ({ which, grid: [h, w], colours: tints, ids, opacities }) => {  // each thing filled, its border whole
    const map = make('canvas', { width: w, height: h }), pixels = new ImageData(w, h)
    which.forEach((own, i) => {
      if (!own) return
      const x = i % w, edge = !x || x === w - 1 || [i - 1, i + 1, i - w, i + w].some(other => which[other] !== own), id = ids[own - 1]
      pixels.data.set([...rgbOf(tints[own - 1]), 255 * (edge ? 1 : opacities[+(id === shown())]) * (behind(id) ? BEHIND : 1)], 4 * i)
    })
    map.getContext('2d').putImageData(pixels, 0, 0)
    return map
  }
  const lines = (pen, shape, colour, thick, dash) => {
    pen.setLineDash(dash)
    for (const [ink, wide] of [[UNDER, thick + 2], [colour, thick]]) { pen.strokeStyle = ink; pen.lineWidth = wide; pen.beginPath(); shape(); pen.stroke() }
    pen.setLineDash([])
  }
  const spot = (pen, frame, w, h, taken) => {  // the first of the corners of its box at which its name can be read
    const [x0, y0, x1, y1] = frame.box_xyxy.map((share, i) => share * (i % 2 ? h : w)), wide = Math.min(pen.measureText(frame.word).width + 8, w)
    return [[x0, y0 - HIGH], [x0, y1], [x1 - wide, y0 - HIGH], [x1 - wide, y1], [x0, y0]]
      .map(([x, y]) => ({ frame, wide, left: clamp(x, 0, w - wide), top: clamp(y, 0, h - HIGH) }))
      .find(({ left, top }) => !taken.some(other => left < other.left + other.wide && other.left < left + wide && Math.abs(top - other.top) < HIGH + 1))
  }
  const tag = (pen, { frame: { word, colour, id }, left, top, wide }) => {
    pen.globalAlpha = behind(id) ? BEHIND : 1
    pen.fillStyle = colour; pen.fillRect(left, top, wide, HIGH)
    pen.fillStyle = colour === '#ffffff' ? '#222' : '#fff'; pen.textBaseline = 'middle'; pen.fillText(word, left + 4, top + 9, wide - 8)
    pen.globalAlpha = 1
  }
  const paint = (canvas, panel, regions) => {
    const w = canvas.clientWidth, h = w * height / width, ratio = window.devicePixelRatio || 1, pen = canvas.getContext('2d'), at = place(panel.heats)
    canvas.style.height = h + 'px'
    canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio)
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.drawImage(state.image, 0, 0, w, h)
    for (const each of regions) pen.drawImage(region(each), 0, 0, w, h)
    if (at >= 0) { dim(pen, [0, 0, w, h]); pen.imageSmoothingEnabled = false; pen.drawImage(heat(panel.heats, at), 0, 0, w, h) }
    const frames = panel.frames.filter(({ id, faint }) => !(panel.own || faint) || id === shown()), taken = []
    const rank = ({ id, word, dashed }) => id === shown() ? 0 : dashed ? 1 : 2 + word.includes(NOTE)  // every insect, then what is too many
    const named = frames.filter(({ word, id }) => word && (w >= NARROW || id < 0 || id === shown())).sort((a, b) => rank(a) - rank(b))
    pen.font = '600 12px ' + getComputedStyle(root).fontFamily
    for (const frame of named) taken.push(...[spot(pen, frame, w, h, taken)].filter(Boolean))
    const mute = new Set(frames.filter(each => data.pick === 'box' && each.id !== shown() && !taken.some(({ frame }) => frame === each)))
    for (const frame of frames) {
      const { box_xyxy: [x0, y0, x1, y1], colour, dashed, faint, id, word } = frame, box = () => pen.rect(x0 * w, y0 * h, (x1 - x0) * w, (y1 - y0) * h)
      const own = !panel.own && id >= 0 && id === shown()
      pen.globalAlpha = mute.has(frame) || behind(id) ? BEHIND : 1
      if (faint) lines(pen, box, INK, word ? 2 : 1, word ? [5, 4] : [2, 3])
      else lines(pen, box, own ? INK : colour, own ? 3 : 1.75, dashed ? [5, 4] : [])
      pen.globalAlpha = 1
    }
    for (const each of taken) tag(pen, each)
    canvas.dataset.named = taken.map(({ frame }) => frame.word).join(', ')
    if (data.pick === 'cell' && shown() >= 0) {
      const y = Math.floor(shown() / columns), x = shown() % columns
      lines(pen, () => pen.rect(x * w / columns, y * h / rows, w / columns, h / rows), INK, 2.5, [])
    }
  }
  const draw = () => {
    if (!root.isConnected) return
    const sentence = data.says.find(([id]) => id === shown())
    says.textContent = sentence ? sentence[1] : data.pick === 'cell' && !data.alone ? 'Point at a place to see where it looks; a click keeps it.' : ''
    data.panels.forEach((panel, i) => {
      const [, canvas, scale] = sections[i].children, at = place(panel.heats)
      if (canvas.clientWidth && state.image.naturalWidth) paint(canvas, panel, regions[i])
      scale.hidden = !panel.heats
      if (!panel.heats) return
      scale.firstChild.textContent = panel.heats.quantity
      showBar([...scale.children].slice(1), panel.heats.scale, colours)
    })
    root.dataset.shown = shown()
  }
  const area = ({ box_xyxy: [x0, y0, x1, y1] }) => (x1 - x0) * (y1 - y0)
  const idAt = ({ frames, own }, x, y, regions = []) => {
    if (data.pick === 'cell') return Math.min(rows - 1, Math.floor(y * rows)) * columns + Math.min(columns - 1, Math.floor(x * columns))
    for (const { which, grid: [h, w], ids } of regions) {
      const thing = which[Math.floor(clamp(y, 0, .9999) * h) * w + Math.floor(clamp(x, 0, .9999) * w)]
      if (thing) return ids[thing - 1]
    }
    const inside = frames.filter(({ id, faint, box_xyxy: box }) => id >= 0 && !faint && (!own || id === shown()) && box[0] <= x && x <= box[2] && box[1] <= y && y <= box[3])
    return inside.sort((a, b) => area(a) - area(b))[0]?.id ?? null
  }
  const over = id => { if (state.over !== id) { state.over = id; draw() } }
  const choose = id => { state.chosen = id; state.over = null; expectEcho(state, 'chosen', id); draw(); setStateValue('pick', id) }
  const step = key => ({ ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] })[key]
  data.panels.forEach((panel, i) => {
    const [title, canvas] = sections[i].children
    title.textContent = panel.title
    canvas.setAttribute('role', 'img'); canvas.setAttribute('aria-label', `${panel.title}. ${data.label}`); canvas.tabIndex = 0
    const at = event => {
      const frame = canvas.getBoundingClientRect(), x = (event.clientX - frame.left) / frame.width, y = (event.clientY - frame.top) / frame.height
      return idAt(panel, x, y, regions[i]) ?? idAt(data.panels[0], x, y, regions[0])
    }
    canvas.onpointermove = event => over(at(event))
    canvas.onpointerleave = () => over(null)
    canvas.onclick = event => { const id = at(event); if (data.pick && id !== null) choose(id) }
    canvas.onkeydown = event => {
      const by = data.pick && step(event.key), ids = [...new Set(data.panels[0].frames.map(({ id }) => id).filter(id => id >= 0))]
      if (!by) return
      event.preventDefault()
      if (data.pick === 'cell') choose(clamp(Math.floor(state.chosen / columns) + by[1], 0, rows - 1) * columns + clamp(state.chosen % columns + by[0], 0, columns - 1))
      else if (ids.length) choose(ids[(ids.indexOf(state.chosen) + by[0] + by[1] + ids.length) % ids.length])
    }
  })
  strip.hidden = data.alone || !data.strip.length
  strip.replaceChildren(make('span', {}, data.strip.some(({ mistakes }) => mistakes !== null) ? 'Scenes and their mistakes:' : 'Scenes:'), ...data.strip.map(({ scene, picture, mistakes }) => {
    const wrong = mistakes === null ? '' : mistakes ? `, ${mistakes} mistake${mistakes > 1 ? 's' : ''}` : ', all right', name = `scene ${scene}${wrong}`
    const button = make('button', { type: 'button', title: name, ariaLabel: name, ariaPressed: String(scene === data.scene), onclick: () => setStateValue('scene', scene) }, mistakes === null ? '' : mistakes ? `✗ ${mistakes}` : '✓')
    button.style.backgroundImage = `url("${picture}")`
    return button
  }))
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => draw())
  state.observer.observe(root)
  draw()
  return () => state.observer?.disconnect()
}
