// A view drawn in the browser: a column for each model, its blocks below one another. Every step of the field that is played
// is in the data, so no step needs a server; scrubber.js says which is shown. Canvases are those of the app, mounted as the
// app does. `scripts`: by name the html, the css and the function of each canvas. `tell`: what a click asks for.

const STAGES = new WeakMap()
const WORDS = { folded: 'h2', heading: 'h4', line: 'p', said: 'p', proof: 'p', formula: 'code', code: 'pre' }

function stage(root, book, scripts, bus, tell = () => {}) {
  const make = (tag, props = {}, ...inner) => {
    const made = Object.assign(document.createElement(tag), props)
    made.append(...inner)
    return made
  }
  const given = value => Array.isArray(value) ? value.map(given)          // large texts stand once, in the pool
    : value && typeof value === 'object' ? ('$' in value ? book.pool[value.$]
      : Object.fromEntries(Object.entries(value).map(([name, part]) => [name, given(part)]))) : value
  let state = STAGES.get(root)                                            // kept from run to run, so that nothing flickers
  if (!state) {
    state = { columns: make('div', { className: 'columns' }), places: [] }
    root.append(state.columns)
    STAGES.set(root, state)
  }
  const field = book.field, name = field && (field.key || field.name), opened = new Map(), places = state.places     // (column, block) → what it is drawn in
  const frameAt = index => {
    if (!opened.has(index)) opened.set(index, given(book.frames[index]))
    return opened.get(index)
  }

  // ---- one block each ---------------------------------------------------------------------------------------------------
  const longest = (place, texts) => {                                      // of all steps: none of them moves the rest
    if (place.book === book) return place.longest
    const inAll = book.frames.map(frame => place.path.reduce((inner, step) => inner && inner[step], frame))
    const all = inAll.flatMap(block => block && block.kind === place.kind ? given(texts(block)) : [])
    return Object.assign(place, { book, longest: all.reduce((most, text) => text.length > most.length ? text : most, '') }).longest
  }
  const room = (place, name) => { place.words.parentElement.dataset.room = longest(place, block => [block[name]]) }
  const write = (place, block) => {
    if (!place.words) {
      place.words = make('span')
      place.element.replaceChildren(make(WORDS[block.kind], { className: block.kind }, place.words))
    }
    room(place, 'text')
    place.words.textContent = block.text
  }
  const canvas = (place, block) => {
    const script = scripts[block.script]
    if (!place.shadow) {
      const inner = make('div')
      place.shadow = inner.attachShadow({ mode: 'open' })
      place.shadow.append(make('style', { textContent: script.css }))
      place.shadow.append(document.createRange().createContextualFragment(script.html))
      place.element.replaceChildren(inner)
    }
    const hear = (what, value) => {
      if (what === 'point') tell('point', { point: value, field: block.picks || '' })
      else if (block.tells && what in block.tells) set(block.tells[what], value)
      else if (what === 'pick' && block.values) set(block.picks, block.values[value])
    }
    const longestSaid = longest(place, ({ data }) => [data.sentence || '', ...(data.sentences || []).map(([words]) => words)])
    const turns = field && [block.picks].flat().includes(field.name)         // else nobody answers a click on a small map
    const data = { alone: !turns, ...block.data, longest: longestSaid, ...(book.guided ? { alone: false } : { guide: '' }) }
    script.draw({ data, parentElement: place.shadow, setStateValue: hear, setTriggerValue: hear })
  }
  const set = (fields, value) => pick(Array.isArray(fields)                // several for the parts of a value
    ? fields.map((each, part) => [each, value[part]]).filter(([each]) => each) : [[fields, value]])
  const pick = told => {                                                   // (field, value) pairs, told together
    const played = told.find(([each]) => field && each === field.name), rest = told.filter(each => each !== played)
    if (rest.length) tell('set', rest)
    if (played) bus.dispatchEvent(new CustomEvent('vizkit-step', { detail: { name, value: played[1], chosen: true, answers: 0, missing: 0 } }))
  }
  const picture = (place, block) => {
    if (!place.image) {
      place.image = make('img')
      place.words = make('span')
      place.element.replaceChildren(place.image, make('p', { className: 'line' }, place.words))
    }
    room(place, 'caption')
    Object.assign(place.image, { src: block.src, alt: block.alt, className: block.pixels ? 'picture pixels' : 'picture' })
    place.image.style.width = 100 * block.share + '%'
    place.words.textContent = block.caption
  }
  const bars = (place, block) => {                                         // its names were escaped where it was made
    place.element.innerHTML = block.html
    Object.assign(place.element.firstChild, { role: 'figure', ariaLabel: block.alt })
  }
  const table = (place, block) => {
    const { helps = [], grounds = {} } = block
    const cell = (text, row, column) => {
      const made = make(row < 0 ? 'th' : 'td', { textContent: text, title: row < 0 ? helps[column] || '' : '' })
      made.style.background = grounds[`${row},${column}`] || ''
      return made
    }
    const row = (cells, at) => make('tr', {}, ...cells.map((text, column) => cell(text, at, column)))
    place.element.replaceChildren(make('table', {}, ...[block.names, ...block.rows].map((cells, at) => row(cells, at - 1))),
      make('p', { className: 'line', textContent: block.caption }))
  }
  const side = (place, block) => {
    if (place.parts?.length !== block.parts.length) {
      place.parts = block.parts.map(() => [make('div')])
      place.element.replaceChildren(make('div', { className: 'beside' }, ...place.parts.flat()))
      place.parts = place.parts.map(([element], part) => ({ element, blocks: [], path: [...place.path, 'parts', part] }))
    }
    place.parts.forEach(({ element }, at) => {
      element.classList.toggle('pictures', block.parts[at].length > 2 && block.parts[at].every(({ kind }) => kind === 'picture'))
    })
    place.element.firstChild.style.setProperty('--widths', block.widths.map(share => `minmax(0, ${share}fr)`).join(' '))
    place.parts.forEach((part, at) => fillAll(part, block.parts[at] || []))
  }
  const fill = (place, block) => (WORDS[block.kind] ? write : { canvas, picture, bars, table, columns: side }[block.kind])(place, block)

  // ---- one step ---------------------------------------------------------------------------------------------------------
  const fillAll = (within, blocks) => {
    const mine = within.blocks, opens = blocks.findIndex(({ kind }) => !WORDS[kind])
    const home = index => within.lead && (opens < 0 || index < opens) ? within.lead : within.element   // words above the first picture share a row
    blocks.forEach((_, index) => { mine[index] ||= { element: make('div'), path: [...within.path, index] } })
    const elements = mine.map(({ element }) => element)
    if (elements.some((element, index) => element.parentElement !== home(index))) elements.forEach((element, index) => home(index).append(element))
    blocks.forEach((block, index) => {
      const place = mine[index], { kind } = block, drawnBy = kind + (block.script || '')
      if (place.drawnBy !== drawnBy) Object.assign(place, { drawnBy, kind, book: null, shadow: null, words: null, image: null, parts: null })
      place.element.hidden = false
      fill(place, block)
    })
    mine.slice(blocks.length).forEach(rest => { rest.element.hidden = true })
  }
  const columnAt = at => {
    if (!places[at]) {
      const lead = make('div'), element = make('div')
      state.columns.append(make('article', {}, make('h3'), lead, element))
      places[at] = { lead, element, blocks: [], path: [at] }
    }
    state.columns.children[at].firstChild.textContent = book.titles[at]
  }
  const show = value => {                                                 // false where that step is not in the data
    const index = field ? field.values.indexOf(value) : 0
    if (!book.frames[index]) return false
    frameAt(index).forEach((blocks, column) => { columnAt(column); fillAll(places[column], blocks) })
    for (; places.length > book.titles.length; places.pop()) state.columns.lastChild.remove()
    return true
  }
  const turn = ({ detail }) => {
    if (!root.isConnected) return bus.removeEventListener('vizkit-step', state.turn)
    if (!field || detail.name !== name) return
    detail.answers += 1
    detail.missing += show(detail.value) ? 0 : 1
  }
  if (state.turn) bus.removeEventListener('vizkit-step', state.turn)
  state.turn = turn
  bus.addEventListener('vizkit-step', turn)
  const now = { name, value: field && field.value }  // who turned on in the meantime is not set back
  if (field) bus.dispatchEvent(new CustomEvent('vizkit-step-asked', { detail: now }))
  if (!show(now.value)) show(field.value)
}
