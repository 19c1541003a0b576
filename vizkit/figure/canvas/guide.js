// First steps: three call-outs on the picture itself, until they are dismissed once in this browser. They let every click
// through, but for their own button.
const GUIDED = 'vizkit-first-steps'

function guiding(card, figure, asked, targets) {            // `targets`: where the query and its brightest place are
  const seen = () => { try { return localStorage.getItem(GUIDED) } catch { return card.guided } }   // storage may be refused
  const dismiss = () => {
    try { localStorage.setItem(GUIDED, 'seen') } catch { /* then they come back with the next page */ }
    card.guided = 'seen'
    figure.querySelector('aside')?.remove()
  }
  figure.querySelector('aside')?.remove()
  if (asked === undefined || asked === null) return
  if (asked > (card.asked ?? 0)) card.guided = null
  else if (card.guided || seen()) return
  card.asked = asked
  const aside = document.createElement('aside'), svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  aside.append(svg)
  const say = (number, text, place) => {
    const note = document.createElement('p'), mark = document.createElement('b')
    mark.textContent = number
    note.className = place
    note.append(mark, text)
    aside.append(note)
    return note
  }
  const lines = [[...targets[0], 0.25, 0.9], [...targets[1], 0.75, 0.9]]
  lines.forEach((ends, index) => {
    const line = document.createElementNS('http://www.w3.org/2000/svg', 'line'), mark = document.createElement('i')
    ;['x1', 'y1', 'x2', 'y2'].forEach((name, k) => line.setAttribute(name, 100 * ends[k] + '%'))
    svg.append(line)
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
  figure.append(aside)
  card.dismiss = dismiss
}
