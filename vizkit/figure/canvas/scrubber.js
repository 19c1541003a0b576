// The field that is played: a button and a slider. Whatever draws a step hears of it through `bus` and answers in the event
// itself whether it has that step. Where all have it, the server is told when the hand is taken off; else every step is
// told, and the next one waits until it has come.

const STEP = 'vizkit-step', ASKED = 'vizkit-step-asked'
const SCRUBBERS = new WeakMap()
const PAUSE_MS = 650, REST_MS = 250    // between two steps; after the last key before the server is told of what is drawn

function scrubber(root, data, bus, tell = () => {}) {  // `data`: name, label, help, values, value, counts
  const make = (tag, props = {}, ...inner) => {
    const made = Object.assign(document.createElement(tag), props)
    made.append(...inner)
    return made
  }
  let state = SCRUBBERS.get(root)                      // kept from run to run
  if (!state) {
    const label = make('span'), said = make('b'), play = make('button', { type: 'button' }), slider = make('input', { type: 'range' })
    const form = make('form', { className: 'scrubber', onsubmit: () => false }, make('p', {}, label, said), play, slider)
    root.append(form)
    state = { form, label, said, play, slider, value: data.value, server: data.value }
    SCRUBBERS.set(root, state)
  }
  const { form, label, said, play, slider } = state, { name, values } = data, last = values.length - 1

  const write = () => {
    slider.value = values.indexOf(state.value)
    slider.style.setProperty('--share', last ? `${100 * values.indexOf(state.value) / last}%` : '0%')
    said.textContent = data.counts ? `${Math.ceil(state.value)} of ${values[last]}` : state.value
    slider.setAttribute('aria-valuetext', said.textContent)
    play.textContent = state.playing ? '❚❚ Pause' : '▶ Play'
    play.setAttribute('aria-pressed', String(!!state.playing))
  }
  const turn = value => {                              // whether everybody has that step
    state.value = value
    write()
    const detail = { name, value, answers: 0, missing: 0 }
    bus.dispatchEvent(new CustomEvent(STEP, { detail }))
    return detail.answers > 0 && detail.missing === 0
  }
  const report = () => {
    if (state.value === (state.told ?? state.server)) return
    state.told = state.value
    tell('step', state.value)
  }
  const stop = () => { state.playing = false; clearTimeout(state.timer); write() }
  const later = () => { clearTimeout(state.timer); state.timer = setTimeout(() => root.isConnected && state.next(), PAUSE_MS) }
  const go = place => {
    const complete = turn(values[place])
    if (place === last) stop()
    if (!complete || place === last) report()
    if (complete && state.playing) later()
  }
  state.next = () => go(Math.min(values.indexOf(state.value) + 1, last))

  slider.oninput = () => { const at = Number(slider.value); stop(); state.drawn = turn(values[at]) }
  slider.onchange = () => {                            // a step that is not here is asked for at once, one at a time
    clearTimeout(state.rest)
    if (!state.drawn && state.told === undefined) report()
    else state.rest = setTimeout(report, REST_MS)
  }
  play.onclick = () => {
    if (state.playing) { stop(); return report() }
    state.playing = true
    if (values.indexOf(state.value) === last) go(0)
    else state.next()
  }
  const heard = ({ type, detail }) => {
    if (!root.isConnected) return unlisten()
    if (detail.name !== name) return
    if (type === ASKED) detail.value = state.value
    else if (detail.chosen) { state.value = detail.value; stop(); report() }   // a click on a small map
  }
  const unlisten = () => [STEP, ASKED].forEach(type => bus.removeEventListener(type, state.heard))
  unlisten()
  state.heard = heard
  for (const type of [STEP, ASKED]) bus.addEventListener(type, heard)

  // ---- what the server says: the echo of what it was told, however late, moves nothing ----------------------------------
  const news = data.value !== state.server
  state.server = data.value
  if (!values.includes(state.told)) state.told = undefined
  if (!values.includes(state.value) || (news && state.told === undefined && !state.playing)) turn(data.value)
  if (state.told === data.value) {
    state.told = undefined
    if (state.playing) later()
  }
  Object.assign(slider, { min: 0, max: last, disabled: last < 1 })
  play.disabled = last < 1
  label.textContent = data.label
  form.title = data.help
  slider.setAttribute('aria-label', data.label)
  write()
}
