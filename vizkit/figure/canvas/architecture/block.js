// A block as boxes and arrows. Where everything stands is computed in Python, for two widths; a click tells the part.

const STORE = new WeakMap()
const SVG = 'http://www.w3.org/2000/svg'

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.block')
  const state = STORE.get(parentElement) || {}
  STORE.set(parentElement, state)
  const draw = () => {
    const width = root.clientWidth
    if (!width) return
    const drawn = data.diagrams[width < 560 ? 1 : 0]
    const times = width / drawn.width, px = value => value * times + 'px'
    root.style.height = px(drawn.height)
    const lines = document.createElementNS(SVG, 'svg')
    lines.setAttribute('viewBox', `0 0 ${drawn.width} ${drawn.height}`)
    const line = (points, name) => {
      const path = document.createElementNS(SVG, 'path'), [[x0, y0], [x1, y1]] = points.slice(-2)
      const far = Math.hypot(x1 - x0, y1 - y0) || 1, [u, v] = [(x1 - x0) / far, (y1 - y0) / far]
      path.setAttribute('d', `M${points.join('L')} M${x1 - 5 * u - 3.5 * v},${y1 - 5 * v + 3.5 * u} L${x1},${y1} L${x1 - 5 * u + 3.5 * v},${y1 - 5 * v - 3.5 * u}`)
      if (name) path.setAttribute('class', name)
      lines.append(path)
    }
    drawn.arrows.forEach(points => line(points))
    drawn.paths.forEach(points => line(points, 'past'))
    const parts = data.nodes.map((node, at) => {
      const [left, top, wide, high] = drawn.boxes[at]
      const part = document.createElement(node.picture ? 'button' : 'span')
      Object.assign(part.style, { left: px(left), top: px(top), width: px(wide), height: px(high) })
      if (!node.picture) { part.textContent = '+'; return part }
      const picture = document.createElement('img'), title = document.createElement('b'), shape = document.createElement('small')
      picture.src = node.picture; picture.alt = ''
      title.textContent = node.title; shape.textContent = node.noted ? node.shape : ''
      part.setAttribute('aria-label', `${node.words}, ${node.shape}`)
      part.setAttribute('aria-pressed', String(node.name === data.part))
      part.title = node.words
      part.append(picture, title, shape)
      part.disabled = data.alone
      part.onclick = () => setTriggerValue('part', node.name)
      return part
    })
    root.setAttribute('aria-label', data.label)
    root.replaceChildren(lines, ...parts)
  }
  state.draw = draw
  if (!state.resize) {
    state.resize = new ResizeObserver(() => { if (root.clientWidth !== state.width) { state.width = root.clientWidth; state.draw() } })
    state.resize.observe(root)
  }
  draw()
}
