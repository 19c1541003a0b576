// After short, news.
// Steps of a computation, each a few strips of cells. All numbers are here: stepping, playing and reading a cell need no
// Python, which hears of the step and of what is chosen (a word, a layer) to keep them in the address.

const STORE = new WeakMap()
const HOLD_MS = 2400, MOST_WRITTEN = 24, ROOM = 300

export default function ({ data, parentElement, setStateValue }) {
  const find = name => parentElement.querySelector(name)
  const root = find('.strips'), tops = find('.tops'), choices = find('.choices'), list = find('ol'), says = find('.says'), rows = find('.rows'), read = find('.read')
  const [back, play, next] = root.querySelectorAll('.controls button')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  const stop = () => { clearTimeout(state.timer); state.playing = false }
  if (isNews(state, 'at', data.at)) { stop(); state.at = data.at }
  const steps = data.steps.map(step => ({ ...step, strips: step.strips.map(strip => ({ ...strip, values: floats(strip.values) })) }))
  const last = steps.length - 1, table = bytes(data.signed)
  state.at = clamp(state.at, 0, last)
  const calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches
  const made = (tag, name, text) => { const element = document.createElement(tag); if (name) element.className = name; element.textContent = text ?? ''; return element }

  // Vectors of a step share one scale; what is −∞ has none. A weight is as strong as it is large.
  const shade = (value, limit, kind) => {
    if (!Number.isFinite(value)) return ['', 'masked']
    if (kind === 'weights') return [`rgb(245 158 11 / ${0.06 + 0.94 * clamp(value / limit, 0, 1)})`, value > 0.5 * limit ? 'light' : '']
    const level = 3 * Math.round(127.5 + 127.5 * clamp(value / limit, -1, 1))
    return [`rgb(${table[level]} ${table[level + 1]} ${table[level + 2]})`, Math.abs(value) > 0.62 * limit ? 'dark' : 'light']
  }
  const row = (strip, limit) => {
    const line = made('div', 'row'), cells = made('div', 'cells'), count = strip.values.length, named = strip.labels.length > 0
    const name = made('div', 'name', strip.name), crowd = count > MOST_WRITTEN
    if (strip.kind === 'weights') limit = crowd ? largest(strip.values) : 1   // of very many the largest is bright
    if (named && crowd) name.append(made('small', '', ` the largest ${number(limit, 3)}`))
    if (!named) name.append(made('small', '', ` ${count} numbers`))
    cells.style.setProperty('--count', count)
    cells.classList.toggle('named', named); cells.classList.toggle('many', crowd)
    strip.values.forEach((value, i) => {
      const [colour, tone] = shade(value, limit, strip.kind), cell = made('i', tone, crowd ? '' : short(value))
      cell.style.background = colour; cell.style.setProperty('--delay', `${Math.round(500 * i / count)}ms`)
      cell.title = `${named ? strip.labels[i] : `number ${i + 1}`}: ${number(value, 4)}`
      if (strip.frame && i >= strip.frame[0] && i < strip.frame[1]) cell.classList.add('framed')
      cells.append(cell)
    })
    cells.onpointermove = event => { if (event.target.title) read.textContent = `${strip.name} · ${event.target.title}` }
    line.append(name, cells)
    if (named && !crowd) {
      const below = made('div', 'labels')
      below.style.setProperty('--count', count)
      below.append(...strip.labels.map(label => made('span', '', label)))
      line.append(below)
    }
    return line
  }
  const short = value => !Number.isFinite(value) ? '−∞' : Math.abs(value) < 1 && value >= 0 ? value.toFixed(2).replace(/^0/, '') : number(value, 1)

  const scaleOf = strips => {
    const finite = strips.filter(strip => strip.kind === 'vector').flatMap(strip => [...strip.values].filter(Number.isFinite))
    return finite.length ? largest(finite) : 0
  }

  const draw = () => {
    const step = steps[state.at]
    const limit = scaleOf(step.strips), column = made('div', 'column')
    column.style.setProperty('--tall', `${clamp(Math.round((ROOM - 42 * step.strips.length) / step.strips.length), 34, 150)}px`)
    column.append(...step.strips.map(strip => row(strip, limit || 1)))
    rows.replaceChildren(column)
    rows.classList.toggle('moving', !calm && state.playing)
    says.replaceChildren(made('b', '', step.title), made('code', '', step.formula), made('br'), made('span', '', step.say))
    read.textContent = (limit ? `Blue is below 0, white 0, red above; strongest at ${number(limit, 2)}. ` : '') + (step.strips.some(({ kind }) => kind === 'weights') ? 'A weight is the more yellow the larger it is. ' : '') + 'Point at a cell to read its number.'
    ;[...list.querySelectorAll('button')].forEach((button, i) => i === state.at ? button.setAttribute('aria-current', 'step') : button.removeAttribute('aria-current'))
    play.textContent = state.playing ? '❚❚ Pause' : '▶ Play'
    play.hidden = calm; back.disabled = !state.at; next.disabled = state.at === last
    Object.assign(root.dataset, { step: state.at, title: step.title, part: step.part, limit })
  }
  const go = at => { state.at = clamp(at, 0, last); draw() }
  const keep = () => { expectEcho(state, 'at', state.at); setStateValue('step', state.at + 1) }
  state.tick = () => {
    if (!state.playing || !root.isConnected) return
    if (state.at >= last) { stop(); draw(); return keep() }
    go(state.at + 1); state.timer = setTimeout(() => state.tick(), HOLD_MS)
  }
  back.onclick = () => { stop(); go(state.at - 1); keep() }
  next.onclick = () => { stop(); go(state.at + 1); keep() }
  play.onclick = () => {
    if (state.playing) { stop(); draw(); return keep() }
    state.playing = true
    go(state.at >= last ? 0 : state.at); state.timer = setTimeout(() => state.tick(), HOLD_MS)
  }
  root.onkeydown = event => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (by) { event.preventDefault(); stop(); go(state.at + by); keep() }
  }

  const groups = []
  steps.forEach((step, i) => {
    if (groups.at(-1)?.part !== step.part) groups.push({ part: step.part, items: [] })
    groups.at(-1).items.push([step, i])
  })
  list.replaceChildren(...groups.map(({ part, items }) => {
    const group = made('li'), name = made('span', 'part', part)
    group.append(name, ...items.map(([step, i]) => { const button = made('button', '', step.title); button.onclick = () => { stop(); go(i); keep() }; return button }))
    return group
  }))
  const words = made('div', 'words')
  words.append(...data.words.map((word, i) => {
    const chip = made('button', 'chip', word)
    chip.setAttribute('aria-pressed', i === data.chosen); chip.disabled = data.alone
    chip.onclick = () => setStateValue('word', i + 1)
    return chip
  }))
  tops.replaceChildren(words)
  choices.replaceChildren(...data.choices.map(({ name, label, options, chosen }) => {
    const choice = made('label', '', label), select = made('select')
    select.append(...options.map(option => Object.assign(made('option', '', option), { selected: option === chosen })))
    select.disabled = data.alone || options.length < 2; select.setAttribute('aria-label', label)
    select.onchange = () => setStateValue(name, select.value)
    choice.append(select)
    return choice
  }))
  root.setAttribute('aria-label', data.label)
  draw()
  return () => clearTimeout(state.timer)
}
