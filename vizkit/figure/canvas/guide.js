// First steps: three call-outs on the picture itself, until they are dismissed once in this browser. They let every click
// through, but for their own button.
const GUIDED = 'vizkit-first-steps'

function guiding(card, map, asked, targets) {            // `targets`: where the query and its brightest place are
  const seen = () => { try { return localStorage.getItem(GUIDED) } catch { return card.guided } }   // storage may be refused
  const dismiss = () => {
    try { localStorage.setItem(GUIDED, 'seen') } catch { /* then they come back with the next page */ }
    card.guided = 'seen'
    map.querySelector('aside')?.remove()
  }
  map.querySelector('aside')?.remove()
  if (asked === undefined || asked === null) return
  if (asked > (card.asked ?? 0)) card.guided = null
  else if (card.guided || seen()) return
  card.asked = asked
  const aside = document.createElement('aside')
  const say = (number, text, place) => {
    const note = document.createElement('p'), mark = document.createElement('b')
    mark.textContent = number
    note.className = place
    note.append(mark, text)
    aside.append(note)
    return note
  }
  const lines = [[...targets[0], 0.25, 0.9], [...targets[1], 0.75, 0.9]]
  const drawn = lines.map(ends => `<line ${['x1', 'y1', 'x2', 'y2'].map((name, k) => `${name}="${100 * ends[k]}%"`).join(' ')}/>`)
  aside.innerHTML = `<svg>${drawn.join('')}</svg>`           // numbers alone
  lines.forEach((ends, index) => {
    const mark = document.createElement('i')
    mark.textContent = index + 1
    mark.style.left = 100 * ends[0] + '%'; mark.style.top = 100 * ends[1] + '%'
    aside.append(mark)
  })
  say(1, 'This square asks: the query', 'left')
  say(2, 'Bright: where it takes information from', 'right')
  const last = say(3, 'Drag the layer above: local becomes global', 'top'), button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Got it'
  button.onclick = dismiss
  last.append(button)
  map.append(aside)
  card.dismiss = dismiss
}
