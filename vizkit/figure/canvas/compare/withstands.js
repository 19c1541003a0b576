// After news.
// One picture changed in several ways, and how probable each model's first answer stays. One slider turns the strength of
// all changes: the pictures and the marks on the curves follow here, and Python hears it when the slider is let go.

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]], STRENGTHS = new WeakMap()
const LEFT = 34, RIGHT = 8, TOP = 6, BOTTOM = 30, HEIGHT = 132                  // of a chart, in CSS pixels

const swatch = (colour, dash) => {
  const drawn = document.createElement('canvas')
  drawn.width = 44; drawn.height = 8
  const pen = drawn.getContext('2d')
  pen.strokeStyle = colour; pen.lineWidth = 5; pen.setLineDash(dash.map(part => 2 * part))
  pen.beginPath(); pen.moveTo(0, 4); pen.lineTo(44, 4); pen.stroke()
  return drawn
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('section'), slider = root.querySelector('input'), panels = root.querySelector('.panels')
  const first = !STRENGTHS.has(root), state = STRENGTHS.get(root) || {}
  STRENGTHS.set(root, state)
  if (isNews(state, 'level', data.level)) state.level = data.level
  state.data = data
  const make = (tag, text = '', name = '') => Object.assign(document.createElement(tag), { textContent: text, className: name })
  const colour = index => data.models[index].colour

  root.querySelector('.models').replaceChildren(...data.models.map(({ name }, index) => {
    const item = make('span', name)
    item.prepend(swatch(colour(index), DASHES[index % 4]))
    return item
  }))
  panels.replaceChildren(...data.kinds.map(kind => {
    const figure = make('figure'), row = make('div'), picture = make('img')
    picture.classList.toggle('exact', data.exact)
    row.append(picture, make('ul'))
    figure.append(make('b', kind.title), make('span'), row, make('canvas'))
    figure.title = kind.about
    return figure
  }))

  const alike = data.models.some(model => model.likeness)  // no per cent of a cosine

  // ---- one chart --------------------------------------------------------------------------------------------------------
  const plot = (canvas, kind, at) => {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, style = getComputedStyle(canvas)
    if (!width) return
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(HEIGHT * ratio)
    const pen = canvas.getContext('2d'), ink = style.getPropertyValue('--st-text-color') || '#888', end = kind.strengths.at(-1)
    const x = strength => LEFT + strength / end * (width - LEFT - RIGHT), y = share => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)
    pen.scale(ratio, ratio)
    pen.font = `11px ${style.getPropertyValue('--st-font') || 'sans-serif'}`
    pen.textBaseline = 'middle'
    const trace = (points, dash = []) => {
      pen.beginPath(); pen.setLineDash(dash)
      points.forEach((point, index) => (index ? pen.lineTo(...point) : pen.moveTo(...point)))
    }
    pen.fillStyle = pen.strokeStyle = ink
    for (const share of [0, 0.5, 1]) {
      pen.globalAlpha = share ? 0.15 : 0.45
      trace([[LEFT, y(share)], [width - RIGHT, y(share)]]); pen.stroke()
      pen.globalAlpha = 0.8; pen.textAlign = 'right'; pen.fillText(alike ? share : 100 * share + ' %', LEFT - 4, y(share))
    }
    for (const [strength, align] of [[0, 'left'], [end, 'right']]) {
      pen.textAlign = align; pen.fillText(kind.percent ? Math.round(100 * strength) + ' %' : strength, x(strength), y(0) + 9)
    }
    pen.textAlign = 'center'; pen.fillText(kind.unit, (LEFT + width - RIGHT) / 2, HEIGHT - 7)
    pen.globalAlpha = 0.6; trace([[x(kind.strengths[at]), y(1)], [x(kind.strengths[at]), y(0)]]); pen.stroke()
    kind.curves.forEach((curve, index) => {
      if (!curve) return
      const points = curve.mean.map((share, step) => [x(kind.strengths[step]), y(share)])
      pen.fillStyle = pen.strokeStyle = colour(index)
      if (curve.low) {
        pen.globalAlpha = 0.22
        trace([...curve.low.map((share, step) => [x(kind.strengths[step]), y(share)]), ...curve.high.map((share, step) => [x(kind.strengths[step]), y(share)]).reverse()]); pen.fill()
      }
      pen.globalAlpha = 1; pen.lineWidth = 2; trace(points, DASHES[index % 4]); pen.stroke(); pen.lineWidth = 1
      pen.setLineDash([]); pen.beginPath(); pen.arc(...points[at], 4, 0, 7); pen.fill()
    })
  }

  const turn = () => {
    const { kinds, label } = state.data, at = state.level
    slider.value = at
    slider.setAttribute('aria-valuetext', `step ${at} of ${slider.max}`)
    root.querySelector('label span').textContent = at ? `${at} of ${slider.max}` : '0: the image itself'
    ;[...panels.children].forEach((figure, index) => {
      const kind = kinds[index], [words, picture, list, canvas] = ['span', 'img', 'ul', 'canvas'].map(tag => figure.querySelector(tag))
      words.textContent = ' · ' + kind.words[at]
      picture.src = kind.pictures[at]
      picture.alt = `${kind.title}, ${kind.words[at]}`
      list.replaceChildren(...kind.curves.flatMap((curve, model) => {
        if (!curve) return []
        const { likeness } = state.data.models[model], same = !likeness && curve.answers[at] === curve.answers[0], item = make('li', same ? '✓ same' : (likeness ? '' : '→ ') + curve.answers[at])
        item.title = `${state.data.models[model].name}: ${curve.answers[at]}`
        item.prepend(swatch(colour(model), DASHES[model % 4]))
        return [item]
      }))
      canvas.setAttribute('role', 'img')
      canvas.setAttribute('aria-label', `${kind.title}: ${label}`)
      plot(canvas, kind, at)
    })
  }
  slider.max = data.kinds[0].strengths.length - 1
  slider.oninput = () => { state.level = Number(slider.value); turn() }
  slider.onchange = () => { expectEcho(state, 'level', state.level); setTriggerValue('level', state.level) }
  if (first) new ResizeObserver(() => state.turn()).observe(root)
  state.turn = turn
  turn()
}
