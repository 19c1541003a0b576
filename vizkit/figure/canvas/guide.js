// First steps: what is seen here, in numbered notes below the picture and their marks on it, until they are dismissed once
// in this browser; a button brings them back. Of several pictures the first has them. They let every click through, but for
// their own buttons.
const GUIDED = 'vizkit-first-steps', TOURED = 'vizkit-toured'
const STEP_MS = 220, BEFORE_MS = 1200

function guiding(card, map, words, notes) {             // `notes`: [text, place of its mark in fractions, or nothing]; or nothing
  const seen = () => { try { return localStorage.getItem(GUIDED) } catch { return card.guided } }   // storage may be refused
  const make = (tag, text = '', props = {}) => Object.assign(document.createElement(tag), { textContent: text }, props)
  let marks = map.querySelector('.marks'), aside = words.querySelector('aside')
  card.dismiss = () => {
    try { localStorage.setItem(GUIDED, 'seen') } catch { /* then they come back with the next page */ }
    Object.assign(card, { guided: 'seen', called: false })
    guiding(card, map, words, notes)
  }
  words.querySelector('.again')?.remove()
  if (!window.vizkitGuided?.isConnected) window.vizkitGuided = map
  const mine = notes && window.vizkitGuided === map
  if (!mine || (seen() && !card.called)) {
    [marks, aside].forEach(part => part?.remove())
    const call = () => { card.called = true; guiding(card, map, words, notes) }
    if (mine) words.append(make('button', 'First steps', { type: 'button', className: 'again', onclick: call }))
    return
  }
  if (!aside) {                                         // kept while the notes follow the query: a click on its button counts
    aside = make('aside')
    marks = make('div', '', { className: 'marks' })
    aside.append(make('button', 'Got it', { type: 'button', onclick: () => card.dismiss() }))
    words.prepend(aside)
    map.append(marks)
  }
  const written = notes.map(([text], index) => {
    const note = make('p')
    note.append(make('b', index + 1), text)
    return note
  })
  aside.replaceChildren(...written, aside.lastElementChild)
  marks.replaceChildren(...notes.flatMap(([, at], index) => {
    if (!at) return []
    const mark = make('b', index + 1)
    mark.style.left = 100 * at[0] + '%'; mark.style.top = 100 * at[1] + '%'
    return [mark]
  }))
}

// The first picture moves by itself, once in a browser: its query goes along `points`, until somebody takes over.
// `share(point, committed)`: tells all cards, without a point that each is at its own again.
function touring(points, share) {
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches
  const toured = () => { try { return localStorage.getItem(TOURED) } catch { return 'storage is refused' } }
  if (!points?.length || still || window.vizkitTour || toured()) return
  const taken = ['pointerdown', 'pointermove', 'keydown', 'wheel']
  const end = event => {
    if (event?.type === 'pointermove' && event.composedPath()[0].tagName !== 'CANVAS') return
    clearTimeout(window.vizkitTour)
    taken.forEach(type => window.removeEventListener(type, end, true))
    share(null, false)
  }
  const go = at => {
    if (!at) try { localStorage.setItem(TOURED, 'yes') } catch { /* it does not go at all then */ }
    if (at === points.length) return end()
    share(points[at], false)
    window.vizkitTour = setTimeout(go, STEP_MS, at + 1)
  }
  taken.forEach(type => window.addEventListener(type, end, true))
  window.vizkitTour = setTimeout(go, BEFORE_MS, 0)
}
