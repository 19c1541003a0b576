// A Play button for a slider that lives in Python: one step at a time, the next one only when the last has arrived.

const STORE = new WeakMap()
const PAUSE_MS = 650

export default function ({ data, parentElement, setTriggerValue }) {
  const button = parentElement.querySelector('button')
  const state = STORE.get(parentElement) || { playing: false }
  STORE.set(parentElement, state)

  const show = () => {
    button.textContent = state.playing ? '❚❚ Pause' : '▶ Play'
    button.setAttribute('aria-pressed', String(state.playing))
    button.disabled = data.last <= data.first
  }
  const stop = () => { state.playing = false; clearTimeout(state.timer); show() }
  const step = () => {
    if (!button.isConnected) return stop()
    setTriggerValue('step', state.position >= data.last ? data.first : state.position + 1)
  }
  const moved = state.position !== data.position
  state.position = data.position
  button.onclick = () => {
    if (state.playing) return stop()
    state.playing = true
    show()
    step()
  }
  button.title = data.help
  if (state.playing && moved) {
    clearTimeout(state.timer)
    if (data.position >= data.last) stop()
    else state.timer = setTimeout(step, PAUSE_MS)
  }
  show()
}
