// After short, scales, news, walk/row, walk/scenes.
// One query followed through one head, step by step. All numbers are here, so steps and keys need no round trip; whoever
// mounts it hears of a new query, which is the one cursor of the page, and for the link of a step and a key at rest.

const STORE = new WeakMap()
const HOLD_MS = 1900, REST_MS = 500, TALL = 316, LINES = 8
const TIME_MS = [900, 1400, 3200, 1200, 1300, 1500, 2600, 1300, 2200, 1500]
const HINT = 'Point at a number: it says where it comes from.'

export default function ({ data, parentElement, setStateValue }) {
  const find = name => parentElement.querySelector(name)
  const root = find('.walk'), photo = find('.photo'), canvas = find('.numbers'), list = find('ol'), legend = find('p'), picks = find('.picks')
  const [back, play, next] = parentElement.querySelectorAll('nav > button')
  for (const controls of [play.parentElement, picks, find('.symbols')]) controls.style.display = data.staged ? 'none' : ''
  const STEPS = data.steps, LAST = STEPS.length - 1
  const state = STORE.get(parentElement) || { t: 1, sets: 'key' }
  STORE.set(parentElement, state)
  if (isNews(state, 'step', data.at[0])) {
    cancelAnimationFrame(state.frame); clearTimeout(state.timer)
    Object.assign(state, { step: data.at[0] - 1, playing: false, t: 1 })
  }
  if (isNews(state, 'key', data.at[1])) state.key = data.at[1] ? data.at[1] - 1 : undefined
  const row = rowOf(data), scale = bytes(data.colours), signed = bytes(data.signed)
  const calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches
  const shade = (table, level) => { const at = 3 * clamp(Math.round(level), 0, 255); return `rgb(${table[at]} ${table[at + 1]} ${table[at + 2]})` }
  const chosen = () => row.position.get(state.key) ?? row.first   // of another window the largest weight
  const skipped = step => STEPS[step].skip
  const sentence = (step, j) => skipped(state.step) ? `Nothing happens here: ${step.skip}.` : filled(row.masked[j] && step.masked || step.words, factsOf(row, j))

  // ---- the photograph, as far as the model sees it: which part of it a token is ---------------------------------------------
  const [left, up, right, down] = data.box, special = data.key_special.length
  const [high, across] = [(down - up) * data.image_size[0], (right - left) * data.image_size[1]]   // of what it sees, in pixels
  const rect = (id, w, h) => {                         // of a token, where what the model sees is of this size
    const grid = id === data.query_id ? data.query_grid : data.key_grid, first = id === data.query_id ? data.query_specials : special
    if (!grid || id < first) return null
    const tall = h / grid[0], wide = w / grid[1]
    return [(id - first) % grid[1] * wide, Math.floor((id - first) / grid[1]) * tall, wide, tall]
  }
  const copy = (pen, [x, y, w, h], ...to) => {         // a part, in shares; the picture may have been sent smaller than it is
    const { naturalWidth: wide, naturalHeight: tall } = state.image
    pen.imageSmoothingEnabled = high > 128
    pen.drawImage(state.image, (left + x * (right - left)) * wide, (up + y * (down - up)) * tall, w * (right - left) * wide, h * (down - up) * tall, ...to)
  }
  const patch = (pen, id, x, y, side) => {
    const from = rect(id, 1, 1)
    pen.fillStyle = '#33364d'; pen.fillRect(x, y, side, side)
    if (from && state.image?.complete) return copy(pen, from, x, y, side, side)
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
  const middle = at => [at[0] + at[2] / 2, at[1] + at[3] / 2]
  const line = (pen, from, to, ink, wide) => { pen.strokeStyle = ink; pen.lineWidth = wide; pen.beginPath(); pen.moveTo(...from); pen.lineTo(...to); pen.stroke() }
  const drawPhoto = t => {
    if (!photo.clientWidth || !state.image?.complete) return
    const w = photo.clientWidth, h = w * high / across, pen = ready(photo, h), j = chosen(), step = state.step
    copy(pen, [0, 0, 1, 1], 0, 0, w, h)
    const grid = data.key_grid, top = row.weights[row.order[0]], shares = { ...data.shares, equal: 1 / row.count }, q = rect(data.query_id, w, h)
    const scores = [, , row.scores, row.scaled, row.biased][step], limit = scores && largest(scores.filter((value, k) => !row.masked[k] && Number.isFinite(value)))
    if (step > 4) dim(pen, [0, 0, w, h], step === 5 ? clamp(t / 0.7, 0, 1) : 1)
    const sharp = step > 5 || step === 5 ? (step === 5 ? clamp(t / 0.7, 0, 1) : 1) : 0
    for (let id = special; grid && id < special + grid[0] * grid[1]; id++) {
      const k = row.position.get(id), at = rect(id, w, h)
      if (k === undefined) { pen.fillStyle = 'rgb(8 10 24 / .6)'; pen.fillRect(...at); continue }   // not in the query's window
      if (scores && !(step === 4 && row.masked[k])) {                                                  // scores fill the row, key by key
        pen.globalAlpha = step === 2 && k > t * row.count ? 0 : 0.62; pen.fillStyle = shade(signed, 127.5 + 127.5 * clamp(scores[k] / limit, -1, 1)); pen.fillRect(...at); pen.globalAlpha = 1
      } else if (sharp) {
        const level = levelOf(shares, row.weights[k])
        pen.globalAlpha = sharp * (0.25 + 0.65 * level / 255); pen.fillStyle = shade(scale, level); pen.fillRect(...at); pen.globalAlpha = 1
      }
      if (at[2] > 6) { pen.strokeStyle = 'rgb(255 255 255 / .25)'; pen.lineWidth = 0.6; pen.strokeRect(...at) }
    }
    const k = row.ids[j] >= 0 && rect(row.ids[j], w, h)
    const strongest = new Set(row.order.slice(0, LINES))   // more would hide the map
    if (q && step >= 2 && step <= 6) for (let n = 0; n < row.count; n++) {   // the query asks all keys; their values come back by weight
      const at = row.ids[n] >= special && n !== j && rect(row.ids[n], w, h), share = row.weights[n] / top
      if (!at || (step > 4 && !strongest.has(n))) continue
      const reach = step === 2 ? clamp(1.6 * t, 0, 1) : 1, [from, to] = [middle(q), middle(at)], end = [0, 1].map(i => from[i] + reach * (to[i] - from[i]))
      line(pen, from, end, step > 4 ? `rgb(255 255 255 / ${0.15 + 0.6 * share})` : 'rgb(255 255 255 / .16)', step > 4 ? 0.6 + 3 * share : 0.7)
      if (step === 6 && t < 1) {
        pen.fillStyle = '#fff'; pen.beginPath(); pen.arc(...[0, 1].map(i => to[i] + t * (from[i] - to[i])), 1.5 + 3 * share, 0, 7); pen.fill()
      }
    }
    if (q && k && step) for (const [ink, wide] of [['#0b0d19', 4], [KEY, 2]]) line(pen, middle(q), middle(k), ink, wide)
    for (const id of state.pointed || []) { const at = id >= 0 && rect(id, w, h); if (at) { pen.fillStyle = 'rgb(249 115 22 / .45)'; pen.fillRect(...at) } }
    for (const [at, ink, grow] of [[k, KEY, 1.5], [q, '#fff', 0]]) if (at && (step || ink !== KEY)) for (const [colour, wide] of [['#0b0d19', 5], [ink, 2.5]]) {
      pen.strokeStyle = colour; pen.lineWidth = wide; pen.strokeRect(at[0] - grow, at[1] - grow, at[2] + 2 * grow, at[3] + 2 * grow)
    }
    const text = [, , number(row.scores[j]), number(row.scaled[j]), number(row.biased[j]), percent(row.weights[j]), percent(row.weights[j])][step]
    if (k && text) {
      pen.font = '600 13px sans-serif'
      const wide = pen.measureText(text).width + 12, x = clamp(k[0] + k[2] / 2 - wide / 2, 0, w - wide), y = k[1] > 26 ? k[1] - 25 : k[1] + k[3] + 5
      pen.fillStyle = KEY; pen.beginPath(); pen.roundRect(x, y, wide, 20, 5); pen.fill()
      pen.fillStyle = DARK; pen.textAlign = 'center'; pen.textBaseline = 'middle'; pen.fillText(text, x + wide / 2, y + 10.5)
    }
  }

  // ---- the numbers ---------------------------------------------------------------------------------------------------------
  const drawSource = (pen, cells) => {                 // what is pointed at, and the numbers and patches that it was made of
    const at = state.hover && cells.findLast(({ x, y, w, h }) => state.hover[0] >= x && state.hover[0] < x + w && state.hover[1] >= y && state.hover[1] < y + h)
    const c = at ? at.at(...state.hover) : -1
    state.pointed = []
    if (c < 0) { find('.from').textContent = HINT; return }
    const sources = at.from(c).filter(each => each !== undefined), own = at.box(c)
    state.pointed = sources.filter(each => !Array.isArray(each))
    sources.filter(Array.isArray).forEach(source => {
      line(pen, middle(source), middle(own), KEY, 1.2)
      pen.strokeStyle = KEY; pen.lineWidth = 2; pen.strokeRect(...source)
    })
    pen.strokeStyle = DARK; pen.lineWidth = 4; pen.strokeRect(...own); pen.strokeStyle = KEY; pen.lineWidth = 2; pen.strokeRect(...own)
    find('.from').textContent = at.says(c)
  }
  const draw = t => {
    if (!canvas.isConnected || !canvas.clientWidth) return
    state.t = t
    const style = getComputedStyle(canvas), ink = style.getPropertyValue('--st-text-color') || '#888', tall = TALL, pen = ready(canvas, tall)
    const mixed = share => `color-mix(in srgb, ${ink} ${share}%, transparent)`
    const at = { pen, wide: canvas.clientWidth, tall, ink, font: style.fontFamily, faint: mixed(9), line: mixed(32), dots: mixed(45), shade, scale, signed, shares: { ...data.shares, equal: 1 / row.count }, patch,
      hits: [], cells: [], said: {}, step: state.step }
    const limits = skipped(state.step) ? null : scenesOf(row, at)[state.step](chosen(), t)
    state.hits = at.hits
    if (skipped(state.step)) {
      pen.font = `400 15px ${at.font}`; pen.fillStyle = mixed(60); pen.textAlign = 'center'; pen.fillText('nothing happens in this step', at.wide / 2, tall / 3)
    }
    drawSource(pen, at.cells)
    drawPhoto(t)
    legend.style.visibility = limits ? 'visible' : 'hidden'
    if (limits) {
      showBar(legend.children, limits, limits.signed ? signed : scale)
    }
    Object.assign(root.dataset, { step: state.step, done: t === 1, key: row.name(row.ids[chosen()]), score: row.scores[chosen()],
      difference: row.difference, sum: at.said.sum ?? '' })
  }
  const tell = () => {
    const step = STEPS[state.step], title = document.createElement('b'), formula = document.createElement('code')
    title.textContent = `${state.step + 1}  ${step.title}`; formula.textContent = step.formula
    find('output').replaceChildren(title, formula, document.createElement('br'), sentence(step, chosen()))
    find('.symbols').replaceChildren(...STEPS.flatMap((each, i) => {
      if (!each.symbols || each.skip) return []
      const part = document.createElement('button')
      part.textContent = filled(each.symbols, factsOf(row, chosen())); part.onclick = () => state.go(i)
      if (i === state.step) part.setAttribute('aria-current', 'step')
      return [part]
    }))
    ;[...list.children].forEach((item, i) => {
      const button = item.firstChild
      i === state.step ? button.setAttribute('aria-current', 'step') : button.removeAttribute('aria-current')
      button.lastChild.textContent = ' ' + STEPS[i].title
      button.setAttribute('aria-label', `${i + 1} ${STEPS[i].title}`)   // also where there is no room for its name
      button.className = skipped(i) ? 'skipped' : ''; button.title = skipped(i) || STEPS[i].title
    })
    const why = STEPS.map((each, i) => [each.skip, i + 1]).filter(([skip]) => skip)
    find('.why').textContent = Object.entries(Object.groupBy ? Object.groupBy(why, ([skip]) => skip) : Object.fromEntries(why.map(each => [each[0], [each]])))
      .map(([skip, each]) => `${each.map(([, i]) => i).join(', ')} struck through: ${skip}.`).join(' ')
    play.textContent = state.playing ? '❚❚ Pause' : '▶ Play'
    play.hidden = calm; back.disabled = !state.step; next.disabled = state.step === LAST
    find('.chosen').textContent = `□ query: ${data.query_name}  ·  ■ key: ${row.name(row.ids[chosen()])}, weight ${percent(row.weights[chosen()])}`
    picks.querySelectorAll('[data-sets]').forEach(button => button.setAttribute('aria-pressed', button.dataset.sets === state.sets))
    canvas.setAttribute('aria-label', `${data.label}, step ${state.step + 1} of ${STEPS.length}: ${step.title}`)
  }
  const rest = () => {
    clearTimeout(state.resting)
    state.resting = setTimeout(() => {
      if (state.playing || !root.isConnected) return
      for (const [name, value, sent] of [['step', state.step + 1, 'step'], ['key', (state.key ?? -1) + 1, 'token']]) {
        expectEcho(state, name, value)
        setStateValue(sent, value)
      }
    }, REST_MS)
  }
  const go = (step, playing = false) => {
    cancelAnimationFrame(state.frame); clearTimeout(state.timer)
    Object.assign(state, { step: clamp(step, 0, LAST), playing, hover: null }); state.tell(); rest()
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
  const inside = event => share(event).map((value, i) => value * (i ? canvas.clientHeight : canvas.clientWidth))
  const idAt = ([x, y]) => {
    const grid = data.key_grid
    return grid && x >= 0 && y >= 0 && x < 1 && y < 1 ? special + Math.floor(y * grid[0]) * grid[1] + Math.floor(x * grid[1]) : -1
  }
  photo.onclick = event => {
    const point = share(event), id = idAt(point)
    if (id < 0) return
    if (!data.alone && (state.sets === 'query' || event.shiftKey)) return setStateValue('point', [left + point[0] * (right - left), up + point[1] * (down - up)].map(value => Math.round(clamp(value, 0, 0.9999) * 10000) / 10000))
    if (row.position.has(id)) choose(id)
    else find('.chosen').textContent = `${row.name(id)} is in another window: this query does not see it`
  }
  canvas.onclick = event => {
    const [x, y] = inside(event)
    const hit = (state.hits || []).findLast(([left, top, w, h]) => x >= left && x < left + w && y >= top && y < top + h)
    if (hit) choose(row.ids[hit[4]])
  }
  const point = at => { state.hover = at; if (state.t === 1) state.draw(1) }
  canvas.onpointermove = event => point(inside(event))
  canvas.onpointerleave = () => point(null)
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
  back.setAttribute('aria-label', 'Back'); next.setAttribute('aria-label', 'Next')
  play.onclick = toggle
  if (list.childElementCount !== STEPS.length) list.replaceChildren(...STEPS.map((step, i) => {
    const item = document.createElement('li'), button = document.createElement('button'), name = document.createElement('span')
    button.append(i + 1, name); button.onclick = () => state.go(i); item.append(button)
    return item
  }))
  const sets = data.alone ? [] : [['sets', 'key', 'key'], ['sets', 'query', 'query']]
  const choices = [...sets, ...['largest weight', ...data.key_special.map(name => `[${name}]`)].map((text, i) => ['key', i - 1, text])]
  picks.replaceChildren(...choices.map(([kind, value, text]) => {
    const button = document.createElement('button')
    button.textContent = kind === 'sets' ? `click sets the ${text}` : value < 0 ? 'key with the largest weight' : `key ${text}`; button.dataset[kind] = value
    button.onclick = kind === 'sets' ? () => { state.sets = value; state.tell() } : () => choose(value < 0 ? undefined : value)
    return button
  }))
  Object.assign(state, { draw, tell, go })
  photo.style.setProperty('--aspect', across / high)
  photo.setAttribute('aria-label', `${data.label}. Click a key, or use the arrow keys.`)
  tell()
  if (!state.resize) { state.resize = new ResizeObserver(() => state.draw(state.t)); state.resize.observe(canvas); state.resize.observe(photo) }
  if (state.source !== data.image) {
    state.source = data.image; state.image = new Image(); state.image.onload = () => state.draw(state.t); state.image.src = data.image
  } else draw(state.t)
}
