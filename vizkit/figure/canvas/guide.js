// First steps: what is seen here, in numbered notes below the picture and their marks on it, until they are dismissed once
// in this browser. They let every click through, but for their own button.
const GUIDED = 'vizkit-first-steps'

function guiding(card, map, words, asked, notes) {      // `notes`: [text, place of its mark in fractions, or nothing]
  const seen = () => { try { return localStorage.getItem(GUIDED) } catch { return card.guided } }   // storage may be refused
  const clear = () => [map.querySelector('.marks'), words.querySelector('aside')].forEach(part => part?.remove())
  card.dismiss = () => {
    try { localStorage.setItem(GUIDED, 'seen') } catch { /* then they come back with the next page */ }
    card.guided = 'seen'
    clear()
  }
  clear()
  if (asked === undefined || asked === null) return
  if (asked > (card.asked ?? 0)) {                        // asked for again: they stay until they are dismissed again
    try { localStorage.removeItem(GUIDED) } catch { /* as above */ }
    card.guided = null
  } else if (card.guided || seen()) return
  card.asked = asked
  const make = (tag, text = '', props = {}) => Object.assign(document.createElement(tag), { textContent: text }, props)
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
