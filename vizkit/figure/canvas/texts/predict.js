// After short.
// A line of words as buttons: of a masked model a click hides a word, of a causal one a click on a probability writes
// the next word. Below, the most probable words of every hidden place. What is chosen is told to Python.


export default function ({ data, parentElement, setStateValue }) {
  const find = name => parentElement.querySelector(name)
  const root = find('.predict'), line = find('.line'), answers = find('.answers'), controls = find('.controls')
  const masked = data.mode === 'hidden', hidden = new Set(data.hidden), fixed = new Set(data.fixed)
  const tops = new Map(data.tops), written = data.line.slice(data.given)
  const made = (tag, name, text) => { const element = document.createElement(tag); element.className = name; element.textContent = text; return element }
  const hide = places => setStateValue('places', [...places].sort((a, b) => a - b))
  const write = words => setStateValue('words', words)

  line.replaceChildren(...data.line.map((word, at) => {
    const free = masked && !data.alone && !fixed.has(at), chip = made(free ? 'button' : 'span', 'chip', hidden.has(at) ? '[MASK]' : word)
    if (fixed.has(at)) chip.classList.add('fixed')
    if (!masked && at >= data.given) chip.classList.add('new')
    if (free) {
      chip.setAttribute('aria-pressed', hidden.has(at))
      chip.title = hidden.has(at) ? `Show “${word}” again` : `Hide “${word}”`
      chip.onclick = () => { const next = new Set(hidden); if (!next.delete(at)) next.add(at); if (next.size) hide(next) }
    }
    return chip
  }))
  if (!masked && !data.ended) line.append(made('span', 'chip next', '?'))

  const bars = (at, top) => {
    const card = made('section', '', ''), head = made('h4', '', ''), truth = data.line[at]
    head.textContent = masked ? truth === '[MASK]' ? 'Behind [MASK]' : `Behind [MASK], truly “${truth}”` : 'The next word'
    card.append(head, ...top.map(([word, probability]) => {
      const bar = made(masked || data.alone ? 'div' : 'button', 'bar', '')
      bar.append(made('span', '', word), made('b', '', percent(probability)))
      bar.style.setProperty('--share', `${100 * probability}%`)
      if (masked && word === truth) bar.classList.add('right')
      if (!masked && !data.alone) { bar.title = `Write “${word}”`; bar.onclick = () => write([...written, word]) }
      return bar
    }))
    return card
  }
  answers.replaceChildren(...[...tops].sort((a, b) => a[0] - b[0]).map(([at, top]) => bars(at, top)))

  const control = (text, enabled, act) => { const button = made('button', '', text); button.disabled = !enabled; button.onclick = act; return button }
  const best = tops.get(data.line.length)?.[0][0]
  controls.replaceChildren(...(masked || data.alone ? [] : [
    control('◀ Take back', written.length, () => write(written.slice(0, -1))),
    control('Write the most probable ▶', best, () => write([...written, best])),
    control('Start again', written.length, () => write([])),
  ]))
  Object.assign(root.dataset, { hidden: [...hidden].join(','), written: written.join(' '), best: best || '' })
}
