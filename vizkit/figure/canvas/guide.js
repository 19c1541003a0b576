// First steps: what is seen here, in numbered notes below the picture and their marks on it, until they are dismissed once
// in this browser; a button brings them back. Of several pictures the first has them. They let every click through, but for
// their own buttons.
const GUIDED = 'vizkit-first-steps'

function guiding(card, map, words, notes) {             // `notes`: [text, place of its mark in fractions, or nothing]; or nothing
  const seen = () => { try { return localStorage.getItem(GUIDED) } catch { return card.guided } }   // storage may be refused
  const clear = () => [map.querySelector('.marks'), words.querySelector('aside'), words.querySelector('.again')].forEach(part => part?.remove())
  const make = (tag, text = '', props = {}) => Object.assign(document.createElement(tag), { textContent: text }, props)
  card.dismiss = () => {
    try { localStorage.setItem(GUIDED, 'seen') } catch { /* then they come back with the next page */ }
    Object.assign(card, { guided: 'seen', called: false })
    guiding(card, map, words, notes)
  }
  clear()
  if (!window.vizkitGuided?.isConnected) window.vizkitGuided = map
  if (!notes || window.vizkitGuided !== map) return
  if (seen() && !card.called) {
    const call = () => { card.called = true; guiding(card, map, words, notes) }
    words.append(make('button', 'First steps', { type: 'button', className: 'again', onclick: call }))
    return
  }
  const aside = make('aside'), marks = make('div', '', { className: 'marks' })
  notes.forEach(([text, at], index) => {
    const note = make('p')
    note.append(make('b', index + 1), text)
    aside.append(note)
    if (!at) return
    const mark = make('b', index + 1)
    mark.style.left = 100 * at[0] + '%'; mark.style.top = 100 * at[1] + '%'
    marks.append(mark)
  })
  aside.append(make('button', 'Got it', { type: 'button', onclick: card.dismiss }))
  words.prepend(aside)
  map.append(marks)
}
