// After short.
// The terms of one share of a rollout: pointing at a patch lists what the query takes from a token in the last layer, times
// what that token has of the patch; the tokens are framed and numbered on the image. It follows the cursor of the maps
// beside it (look.js), and is pale while they show the product up to another layer (scrubber.js), whose terms are not here.

const CURSOR = 'vizkit-cursor', STEP = 'vizkit-step'
const STORE = new WeakMap()
const TARGET = '#38e0ff', DIM = 'rgba(8, 10, 24, .5)'

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector('section'), canvas = root.querySelector('canvas')
  const said = root.querySelector('output'), list = root.querySelector('ol')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  const { key_special: special, key_grid: [rows, columns], through_special, through_grid, count, place } = data
  const through = new Uint16Array(bytes(data.through).buffer), taken = floats(data.taken), passed = floats(data.passed), shares = floats(data.shares)
  const several = String(through_grid) !== String(data.key_grid)   // then it is said once on which grid tokens lie
  const name = (id, special, grid) => id < special.length ? `[${special[id]}]`
    : `row ${Math.floor((id - special.length) / grid[1]) + 1}, column ${(id - special.length) % grid[1] + 1}`
  const draw = () => {
    if (!canvas.clientWidth) return
    const ratio = window.devicePixelRatio || 1, [left, up, right, down] = data.box, { naturalWidth, naturalHeight } = state.image
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(width * (down - up) * data.image_size[0] / ((right - left) * data.image_size[1]))
    Object.assign(canvas, { width, height })
    const pen = canvas.getContext('2d'), at = state.at
    pen.imageSmoothingEnabled = data.image_size[1] > 128
    if (naturalWidth) pen.drawImage(state.image, -left * width / (right - left), -up * height / (down - up), width / (right - left), height / (down - up))
    pen.fillStyle = DIM; pen.fillRect(0, 0, width, height)
    const cell = (id, [down, across]) => [id % across * width / across, Math.floor(id / across) * height / down, width / across, height / down]
    const frame = (box, ink) => { for (const [colour, line] of [['#000', 4], [ink, 2]]) { pen.strokeStyle = colour; pen.lineWidth = line * ratio; pen.strokeRect(...box) } }
    const terms = [...Array(count).keys()].map(term => {
      const from = at * count + term
      return { id: through[from], taken: taken[from], passed: passed[from], share: taken[from] * passed[from] }
    }).filter(term => term.share > 0)
    frame(cell(at - special.length, [rows, columns]), TARGET)
    pen.font = `600 ${ratio * clamp(0.8 * canvas.clientWidth / through_grid[1], 8, 12)}px sans-serif`; pen.textAlign = 'center'; pen.textBaseline = 'middle'
    terms.forEach((term, i) => {
      if (term.id < through_special.length) return
      const [x, y, wide, high] = cell(term.id - through_special.length, through_grid)
      if (term.id - through_special.length !== at - special.length) frame([x, y, wide, high], '#fff')
      pen.fillStyle = '#fff'; pen.strokeStyle = '#000'; pen.lineWidth = 3 * ratio
      pen.strokeText(i + 1, x + wide / 2, y + high / 2); pen.fillText(i + 1, x + wide / 2, y + high / 2)
    })
    const rest = shares[at] - terms.reduce((sum, term) => sum + term.share, 0)
    said.textContent = `${data.query} has ${percent(shares[at])} of ${name(at, special, [rows, columns])}, the sum of these products: what it takes of a token in the last layer × what that token has of this patch`
    list.replaceChildren(...terms.map(term => {
      const line = document.createElement('li')
      line.textContent = `${percent(term.taken)} of ${name(term.id, through_special, through_grid)} × its ${percent(term.passed)} = ${percent(term.share)}`
      return line
    }))
    while (list.children.length < count) {            // its height is that of every step
      const line = document.createElement('li')
      line.textContent = '\u00a0'; line.style.visibility = 'hidden'
      list.append(line)
    }
    list.append(Object.assign(document.createElement('small'), { textContent: [
      rest > 1e-5 && `and ${percent(rest)} through all other tokens`, several && `tokens of ${through_grid.join(' × ')}, patch of ${rows} × ${columns}`
    ].filter(Boolean).join(' · ') || '\u00a0' }))
    canvas.setAttribute('aria-label', `${said.textContent} ${list.textContent} ${data.label}`)
  }
  const [x0, y0, x1, y1] = data.box                     // of the image, in fractions
  const share = point => window.dispatchEvent(new CustomEvent(CURSOR, { detail: { point, committed: false } }))
  const point = event => {
    const seen = canvas.getBoundingClientRect()
    share([x0 + (event.clientX - seen.left) / seen.width * (x1 - x0), y0 + (event.clientY - seen.top) / seen.height * (y1 - y0)])
  }
  canvas.onpointermove = canvas.onpointerdown = point
  canvas.onpointerleave = () => share(null)
  state.pointed = at => {
    const part = (at, from, to, of) => clamp(Math.floor((at - from) / (to - from) * of), 0, of - 1)
    state.at = at ? special.length + part(at[1], y0, y1, rows) * columns + part(at[0], x0, x1, columns) : place
    draw()
  }
  state.turned = step => {
    const [first, shown, last] = data.layers
    root.toggleAttribute('data-behind', clamp(step, first, last) !== shown)
  }
  if (!state.heard) {
    state.heard = ({ type, detail }) => {
      if (!root.isConnected) [CURSOR, STEP].forEach(each => window.removeEventListener(each, state.heard))
      else if (type === STEP) state.turned(detail.value)
      else if (!detail.committed) state.pointed(detail.point)
    }
    for (const each of [CURSOR, STEP]) window.addEventListener(each, state.heard)
  }
  root.removeAttribute('data-behind')
  canvas.onkeydown = event => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key]
    if (!step) return
    event.preventDefault()
    state.at = clamp(state.at + step, special.length, shares.length - 1)
    draw()
  }
  if (state.source !== data.image) Object.assign(state, { source: data.image, image: Object.assign(new Image(), { onload: () => state.draw(), src: data.image }) })
  Object.assign(state, { draw, at: place })
  if (!state.resize) { state.resize = new ResizeObserver(() => state.draw()); state.resize.observe(root) }
  draw()
}
