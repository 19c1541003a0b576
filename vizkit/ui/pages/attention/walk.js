// One query followed through one head, step by step. All numbers are here, so steps and keys need no round trip; Python
// hears of a new query, which is the one cursor of the page, and for the link of a step and a key at rest.

const STORE = new WeakMap()
const LAST = STEPS.length - 1, HOLD_MS = 1900, REST_MS = 500
const TIME_MS = [900, 1400, 3200, 1200, 1300, 1500, 2600, 1300, 2200, 1500]

export default function ({ data, parentElement, setStateValue }) {
  const find = name => parentElement.querySelector(name)
  const root = find('.walk'), photo = find('.photo'), canvas = find('.numbers'), list = find('ol'), legend = find('p'), picks = find('.picks')
  const [back, play, next] = parentElement.querySelectorAll('.controls button')
  const state = STORE.get(parentElement) || { step: clamp(data.at[0], 0, LAST), key: data.at[1] ?? undefined, t: 1, sets: 'key' }
  STORE.set(parentElement, state)
  if (state.sent !== data.query || state.of !== data.of) {
    Object.assign(state, { sent: data.query, of: data.of, row: rowOf(data) })
  }
  const row = state.row = Object.assign(state.row, { data })
  const scale = state.scale || (state.scale = bytes(data.colours)), signed = state.signed || (state.signed = bytes(data.signed))
  const calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches
  const shade = (table, level) => { const at = 3 * clamp(Math.round(level), 0, 255); return `rgb(${table[at]} ${table[at + 1]} ${table[at + 2]})` }
  const chosen = () => row.position.get(state.key) ?? row.order[0]
  const skipped = step => STEPS[step].skip?.(row) || ''

  // ---- the photograph: which part of it a token is -------------------------------------------------------------------------
  const box = data.box, special = data.key_special.length
  const shape = () => { const [h, w] = data.image_size; return [w, h] }
  const rect = (id, w, h) => {                         // of a token, in a picture of this size
    const grid = id === data.query_id ? data.query_grid : data.key_grid, first = id === data.query_id ? data.query_specials : special
    if (!grid || id < first) return null
    const tall = (box[3] - box[1]) * h / grid[0], wide = (box[2] - box[0]) * w / grid[1]
    return [box[0] * w + (id - first) % grid[1] * wide, box[1] * h + Math.floor((id - first) / grid[1]) * tall, wide, tall]
  }
  const patch = (pen, id, x, y, side) => {
    const from = rect(id, ...shape())
    pen.fillStyle = '#33364d'; pen.fillRect(x, y, side, side)
    pen.imageSmoothingEnabled = shape()[0] > 128
    if (from && state.image?.complete) return pen.drawImage(state.image, ...from, x, y, side, side)
    pen.font = `600 ${Math.min(15, side / 3)}px sans-serif`; pen.fillStyle = '#fff'; pen.textAlign = 'center'; pen.textBaseline = 'middle'
    pen.fillText(id < 0 ? 'pad' : id === data.query_id ? data.query_special || id + 1 : data.key_special[id] || id + 1, x + side / 2, y + side / 2, side)
  }
  const ready = (element, tall) => {
    const ratio = window.devicePixelRatio || 1, wide = element.clientWidth
    const [w, h] = [Math.round(wide * ratio), Math.round(tall * ratio)]
    if (element.width !== w || element.height !== h) { element.width = w; element.height = h; element.style.height = tall + 'px' }
    const pen = element.getContext('2d')
    pen.setTransform(ratio, 0, 0, ratio, 0, 0); pen.clearRect(0, 0, wide, tall)
    return pen
  }
  const drawPhoto = () => {
    if (!photo.clientWidth || !state.image?.complete) return
    const w = photo.clientWidth, h = w * data.image_size[0] / data.image_size[1], pen = ready(photo, h), j = chosen()
    pen.imageSmoothingEnabled = shape()[0] > 128
    pen.drawImage(state.image, 0, 0, w, h)
    pen.fillStyle = 'rgb(8 10 24 / .62)'; pen.beginPath(); pen.rect(0, 0, w, h)
    pen.rect(box[0] * w, box[1] * h, (box[2] - box[0]) * w, (box[3] - box[1]) * h); pen.fill('evenodd')
    const grid = data.key_grid, top = row.weights[row.order[0]]
    for (let id = special; grid && id < special + grid[0] * grid[1]; id++) {
      const k = row.position.get(id), at = rect(id, w, h)
      if (k === undefined) { pen.fillStyle = 'rgb(8 10 24 / .6)'; pen.fillRect(...at); continue }   // not in the query's window
      if (state.step >= 5) {
        pen.globalAlpha = 0.2 + 0.65 * row.weights[k] / top; pen.fillStyle = shade(scale, 255 * row.weights[k] / top); pen.fillRect(...at); pen.globalAlpha = 1
      }
      if (at[2] > 6) { pen.strokeStyle = 'rgb(255 255 255 / .25)'; pen.lineWidth = 0.6; pen.strokeRect(...at) }
    }
    const q = rect(data.query_id, w, h), k = row.ids[j] >= 0 && rect(row.ids[j], w, h)
    const middle = at => [at[0] + at[2] / 2, at[1] + at[3] / 2]
    if (q && k && state.step) for (const [ink, line] of [['#0b0d19', 4], [KEY, 2]]) {
      pen.strokeStyle = ink; pen.lineWidth = line; pen.beginPath(); pen.moveTo(...middle(q)); pen.lineTo(...middle(k)); pen.stroke()
    }
    for (const [at, ink, grow] of [[k, KEY, 1.5], [q, '#fff', 0]]) if (at) for (const [colour, line] of [['#0b0d19', 5], [ink, 2.5]]) {
      pen.strokeStyle = colour; pen.lineWidth = line; pen.strokeRect(at[0] - grow, at[1] - grow, at[2] + 2 * grow, at[3] + 2 * grow)
    }
    const text = [, , number(row.scores[j]), number(row.scaled[j]), number(row.biased[j]), percent(row.weights[j]), percent(row.weights[j])][state.step]
    if (k && text) {
      pen.font = '600 13px sans-serif'
      const wide = pen.measureText(text).width + 12, x = clamp(k[0] + k[2] / 2 - wide / 2, 0, w - wide), y = k[1] > 26 ? k[1] - 25 : k[1] + k[3] + 5
      pen.fillStyle = KEY; pen.beginPath(); pen.roundRect(x, y, wide, 20, 5); pen.fill()
      pen.fillStyle = DARK; pen.textAlign = 'center'; pen.textBaseline = 'middle'; pen.fillText(text, x + wide / 2, y + 10.5)
    }
  }

  // ---- the numbers ---------------------------------------------------------------------------------------------------------
  const draw = t => {
    if (!canvas.isConnected || !canvas.clientWidth) return
    state.t = t
    drawPhoto()
    const style = getComputedStyle(canvas), ink = style.getPropertyValue('--st-text-color') || '#888', tall = 410, pen = ready(canvas, tall)
    const mixed = share => `color-mix(in srgb, ${ink} ${share}%, transparent)`
    const at = { pen, wide: canvas.clientWidth, tall, ink, font: style.fontFamily, faint: mixed(9), line: mixed(32), dots: mixed(45), shade, scale, signed, patch,
      hits: [], said: {}, step: state.step }
    const limits = skipped(state.step) ? null : scenesOf(row, at)[state.step](chosen(), t)
    state.hits = at.hits
    if (skipped(state.step)) {
      pen.font = `400 15px ${at.font}`; pen.fillStyle = mixed(60); pen.textAlign = 'center'; pen.fillText('nothing happens in this step', at.wide / 2, tall / 3)
    }
    legend.style.visibility = limits ? 'visible' : 'hidden'
    if (limits) {
      legend.firstChild.textContent = limits[0]; legend.lastChild.textContent = limits[1]
      legend.style.setProperty('--ramp', [0, 51, 102, 127.5, 153, 204, 255].map(level => shade(limits[2] ? signed : scale, level)).join(', '))
    }
    Object.assign(root.dataset, { step: state.step, done: t === 1, key: row.name(row.ids[chosen()]), score: row.scores[chosen()],
      difference: row.difference, sum: at.said.sum ?? '' })
  }
  const tell = () => {
    const step = STEPS[state.step], title = document.createElement('b'), formula = document.createElement('code')
    title.textContent = `${state.step + 1}  ${step.title}`; formula.textContent = step.formula
    find('output').replaceChildren(title, formula, document.createElement('br'), skipped(state.step) || step.say(row, chosen()))
    ;[...list.children].forEach((item, i) => {
      const button = item.firstChild
      i === state.step ? button.setAttribute('aria-current', 'step') : button.removeAttribute('aria-current')
      button.className = skipped(i) ? 'skipped' : ''; button.title = skipped(i) || STEPS[i].title
    })
    play.textContent = state.playing ? '❚❚ Pause' : '▶ Play'
    play.hidden = calm; back.disabled = !state.step; next.disabled = state.step === LAST
    find('small').textContent = `□ query: ${data.query_name}  ·  ■ key: ${row.name(row.ids[chosen()])}, weight ${percent(row.weights[chosen()])}`
    picks.querySelectorAll('[data-sets]').forEach(button => button.setAttribute('aria-pressed', button.dataset.sets === state.sets))
    canvas.setAttribute('aria-label', `${data.label}, step ${state.step + 1} of ${STEPS.length}: ${step.title}`)
  }
  const rest = () => {
    clearTimeout(state.resting)
    state.resting = setTimeout(() => { if (!state.playing && root.isConnected) setStateValue('at', [state.step, state.key ?? null]) }, REST_MS)
  }
  const go = (step, playing = false) => {
    cancelAnimationFrame(state.frame); clearTimeout(state.timer)
    Object.assign(state, { step: clamp(step, 0, LAST), playing }); tell(); rest()
    const begun = performance.now(), time = calm || document.hidden || skipped(state.step) ? 0 : TIME_MS[state.step]
    const frame = now => {
      const t = time ? clamp((now - begun) / time, 0, 1) : 1
      state.draw(t)
      if (t < 1) { state.frame = requestAnimationFrame(frame); return }
      if (!state.playing || !root.isConnected) return
      if (state.step < LAST) state.timer = setTimeout(() => state.go(state.step + 1, true), HOLD_MS)
      else { state.playing = false; state.tell(); rest() }
    }
    frame(begun)
  }
  const toggle = () => {
    if (calm) return
    if (!state.playing) return go(state.step === LAST ? 0 : state.step + Math.sign(state.step), true)   // the first one is played itself
    cancelAnimationFrame(state.frame); clearTimeout(state.timer); state.playing = false; state.draw(1); tell(); rest()
  }
  const choose = id => { state.key = id; state.tell(); state.draw(1); rest() }

  // ---- choosing ------------------------------------------------------------------------------------------------------------
  const share = event => { const frame = event.target.getBoundingClientRect(); return [(event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height] }
  const idAt = ([x, y]) => {
    const grid = data.key_grid, c = Math.floor((x - box[0]) / (box[2] - box[0]) * grid?.[1]), r = Math.floor((y - box[1]) / (box[3] - box[1]) * grid?.[0])
    return grid && r >= 0 && c >= 0 && r < grid[0] && c < grid[1] ? special + r * grid[1] + c : -1
  }
  photo.onclick = event => {
    const point = share(event), id = idAt(point)
    if (id < 0) return
    if (state.sets === 'query' || event.shiftKey) return setStateValue('point', point.map(value => Math.round(clamp(value, 0, 0.9999) * 10000) / 10000))
    if (row.position.has(id)) choose(id)
    else find('small').textContent = `${row.name(id)} is in another window: this query does not see it`
  }
  canvas.onclick = event => {
    const [x, y] = share(event).map((value, i) => value * (i ? canvas.clientHeight : canvas.clientWidth))
    const hit = (state.hits || []).findLast(([left, top, w, h]) => x >= left && x < left + w && y >= top && y < top + h)
    if (hit) choose(row.ids[hit[4]])
  }
  root.onkeydown = event => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key]
    if (event.key === ' ' && event.target.tagName !== 'BUTTON') { event.preventDefault(); return toggle() }
    if (!by) return
    event.preventDefault()
    if (event.target !== photo) return go(state.step + by[0] + by[1])
    const at = row.cell(row.ids[chosen()]) || [0, 0], id = special + (at[0] + by[0]) * (data.key_grid?.[1] || 1) + at[1] + by[1]
    if (row.position.has(id)) choose(id)
  }
  back.onclick = () => go(state.step - 1)
  next.onclick = () => go(state.step + 1)
  play.onclick = toggle
  if (list.childElementCount !== STEPS.length) list.replaceChildren(...STEPS.map((step, i) => {
    const item = document.createElement('li'), button = document.createElement('button'), name = document.createElement('span')
    button.append(i + 1, name); name.textContent = ' ' + step.title; button.onclick = () => state.go(i); item.append(button)
    return item
  }))
  const choices = [['sets', 'key', 'key'], ['sets', 'query', 'query'], ...['largest weight', ...data.key_special.map(name => `[${name}]`)].map((text, i) => ['key', i - 1, text])]
  picks.replaceChildren(...choices.map(([kind, value, text]) => {
    const button = document.createElement('button')
    button.textContent = kind === 'sets' ? `click sets the ${text}` : value < 0 ? 'key with the largest weight' : `key ${text}`; button.dataset[kind] = value
    button.onclick = kind === 'sets' ? () => { state.sets = value; state.tell() } : () => choose(value < 0 ? row.ids[row.order[0]] : value)
    return button
  }))
  if (state.key !== undefined && !row.position.has(state.key)) state.key = undefined   // another window: its own largest weight
  Object.assign(state, { draw, tell, go })
  photo.style.setProperty('--aspect', data.image_size[1] / data.image_size[0])
  photo.setAttribute('aria-label', `${data.label}. Click a key, or use the arrow keys.`)
  tell()
  if (!state.resize) { state.resize = new ResizeObserver(() => state.draw(state.t)); state.resize.observe(canvas) }
  if (state.source !== data.image) {
    state.source = data.image; state.image = new Image(); state.image.onload = () => state.draw(state.t); state.image.src = data.image
  } else draw(state.t)
}
