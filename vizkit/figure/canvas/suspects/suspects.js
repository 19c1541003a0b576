// After news.
// Pictures that are suspect, each with what is wrong and buttons that say what is to be done with it. Python is told all decisions
// so far, "12:label:4 30:duplicate:drop": the picture's number, what is suspect, and the label's number, both from 1.

const LISTS = new WeakMap()

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('section'), said = parentElement.querySelector('output')
  const state = LISTS.get(parentElement) || {}
  LISTS.set(parentElement, state)
  if (isNews(state, 'decided', data.decided)) state.decided = data.decided
  const make = (tag, props = {}, ...inner) => {
    const made = Object.assign(document.createElement(tag), props)
    made.append(...inner)
    return made
  }
  const all = () => new Map(state.decided.split(' ').filter(Boolean).map(each => [each.slice(0, each.lastIndexOf(':')), each.slice(each.lastIndexOf(':') + 1)]))
  const keyOf = row => `${row.number}:${row.kind}`
  const decide = (key, what) => {
    const now = all()
    if (now.get(key) === what) now.delete(key)
    else now.set(key, what)
    take(now)
  }
  const open = () => data.rows.filter(row => row.proposal && !all().has(keyOf(row))) // with a suggested label, and nothing decided yet
  const mendAll = () => take(new Map([...all(), ...open().map(row => [keyOf(row), String(row.label_number)])]))
  const take = now => {
    const text = [...now].map(each => each.join(':')).join(' ')
    if (text.length > data.longest) { said.textContent = 'The list is full: save it, and go on with the next images.'; return }
    state.decided = text
    expectEcho(state, 'decided', text)
    setStateValue('decided', text)
    draw()
  }
  const draw = () => {
    const now = all(), left = open().length
    const whole = make('button', { type: 'button', className: 'whole', disabled: !left, onclick: mendAll,
      textContent: left ? `Mend all ${left} labels here as suggested` : 'No suggested label here is left to decide' })
    const anyProposed = data.warning && !data.alone && data.rows.some(row => row.proposal)
    const warning = make('small', { className: 'warning', textContent: data.warning })
    root.replaceChildren(...data.rows.map(row => {
      const key = keyOf(row), done = now.get(key)
      const choices = [['keep', 'Keep'], ...(row.proposal ? [[String(row.label_number), `Mend: ${row.proposal}`]] : []), ['drop', 'Leave out']]
      const buttons = choices.map(([what, words]) => {
        const button = make('button', { type: 'button', textContent: words, onclick: () => decide(key, what) })
        button.setAttribute('aria-pressed', done === what)
        button.setAttribute('aria-label', `${words}: ${row.place}`)
        return button
      })
      const figures = row.pictures.map(src => make('img', { src, alt: `Image of ${row.label}`, title: row.place }))
      return make('article', { className: done ? 'done' : '' }, make('div', { className: 'pictures' }, ...figures),
        make('div', { className: 'words' }, make('b', { textContent: row.label }), make('p', { textContent: row.said }), make('small', { textContent: row.place }),
          ...(data.alone ? [] : [make('nav', {}, ...buttons)])))
    }), ...(anyProposed ? [...(left ? [warning] : []), whole] : []))
    root.dataset.decided = now.size
    said.textContent = data.alone ? '' : now.size ? `${now.size} decided. Save gives all of them as a table; no file is changed.` : 'Nothing is decided yet; no file is ever changed.'
  }
  root.setAttribute('aria-label', data.label)
  draw()
}
