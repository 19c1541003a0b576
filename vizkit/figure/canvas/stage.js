// A view drawn in the browser: a column for each model, its blocks below one another, and a field that is turned here:
// every step of it is in the data, so no step needs a server. Canvases are those of the app, mounted as the app does.
// `scripts`: by name the html, the css and the function of each canvas.

function stage(root, data, scripts, told = () => {}) {
  const make = (tag, props = {}, ...inner) => {
    const made = Object.assign(document.createElement(tag), props)
    made.append(...inner)
    return made
  }
  const given = value => Array.isArray(value) ? value.map(given)          // large texts stand once, in the pool
    : value && typeof value === 'object' ? ('$' in value ? data.pool[value.$]
      : Object.fromEntries(Object.entries(value).map(([name, part]) => [name, given(part)]))) : value
  const columns = make('div', { className: 'columns' })
  const field = data.field
  let now = field ? String(field.value) : '', timer = null
  const slider = make('input', { type: 'range' }), said = make('b'), play = make('button', { type: 'button', textContent: '▶ Play' })
  if (field) {
    Object.assign(slider, { min: 0, max: field.values.length - 1, value: field.values.indexOf(field.value) })
    slider.setAttribute('aria-label', field.label)
    const form = make('form', { title: field.help }, play, make('span', { textContent: field.label }), slider, said)
    form.onsubmit = () => false
    root.append(form)
  }
  root.append(columns)

  const places = []                                                       // (column, block) → what it is drawn in
  const canvas = (place, name, content) => {
    if (!place.shadow) {
      const inner = make('div')
      place.shadow = inner.attachShadow({ mode: 'open' })
      place.shadow.append(make('style', { textContent: scripts[name].css }))
      place.shadow.append(document.createRange().createContextualFragment(scripts[name].html))
      place.element.replaceChildren(inner)
    }
    scripts[name].draw({
      data: content, parentElement: place.shadow,
      setStateValue: (what, value) => told(what, value),
      setTriggerValue: (what, value) => { if (what === 'pick') picked(place.block, value) },
    })
  }
  const picked = (block, index) => {
    if (field && block.picks === field.name) turn(String(block.values[index]))
  }
  const words = { heading: ['h4', ''], line: ['p', 'quiet'], said: ['p', 'said'], proof: ['p', 'quiet'], formula: ['code', ''] }
  const fill = (place, block) => {
    place.block = block
    if (words[block.kind]) {
      const [tag, className] = words[block.kind]
      place.element.replaceChildren(make(tag, { className, textContent: block.text }))
    } else if (block.kind === 'canvas') canvas(place, block.script, block.data)
    else if (block.kind === 'picture') {
      const image = make('img', { src: block.src, alt: block.alt, className: block.pixels ? 'picture pixels' : 'picture' })
      image.style.width = 100 * block.share + '%'
      place.element.replaceChildren(image, make('p', { className: 'quiet', textContent: block.caption }))
    } else if (block.kind === 'table') {
      const row = (cells, tag) => make('tr', {}, ...cells.map(text => make(tag, { textContent: text })))
      place.element.replaceChildren(make('table', {}, row(block.names, 'th'), ...block.rows.map(cells => row(cells, 'td'))),
        make('p', { className: 'quiet', textContent: block.caption }))
    }
  }
  const draw = () => {
    const frame = given(data.frames[now])
    frame.forEach((column, at) => {
      if (!places[at]) {
        const article = make('article')
        if (data.titles[at]) article.append(make('h3', { textContent: data.titles[at] }))
        columns.append(article)
        places[at] = { article, blocks: [] }
      }
      column.forEach((block, index) => {
        const mine = places[at].blocks, kind = block.kind + (block.script || '')
        if (!mine[index]) { mine[index] = { element: make('div') }; places[at].article.append(mine[index].element) }
        if (mine[index].kind !== kind) Object.assign(mine[index], { kind, shadow: null })
        mine[index].element.hidden = false
        fill(mine[index], block)
      })
      places[at].blocks.slice(column.length).forEach(rest => { rest.element.hidden = true })
    })
    if (field) said.textContent = `${now} of ${field.values[field.values.length - 1]}`
  }
  const turn = value => {
    now = value
    slider.value = field.values.map(String).indexOf(value)
    draw()
    told('step', field.values[Number(slider.value)])
  }
  const stop = () => { clearInterval(timer); timer = null; play.textContent = '▶ Play' }
  slider.oninput = () => { stop(); turn(String(field.values[Number(slider.value)])) }
  play.onclick = () => {
    if (timer) return stop()
    play.textContent = '❚❚ Pause'
    if (Number(slider.value) === field.values.length - 1) turn(String(field.values[0]))
    timer = setInterval(() => {
      const next = Number(slider.value) + 1
      if (next >= field.values.length) return stop()
      turn(String(field.values[next]))
    }, 700)
  }
  draw()
}
