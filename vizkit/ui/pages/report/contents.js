// A line for every picture, dragged by mouse or finger to where it belongs.
export default function ({ data, parentElement, setTriggerValue }) {
  const list = parentElement.querySelector('ol')
  const lines = data.lines.map(text => Object.assign(document.createElement('li'), { textContent: text }))
  list.replaceChildren(...lines)
  lines.forEach((line, at) => {
    line.onpointerdown = ({ pointerId }) => {
      list.setPointerCapture(pointerId)  // a line that is put elsewhere would lose the pointer
      line.classList.add('dragged')
      list.onpointermove = ({ clientY }) => {
        const others = [...list.children].filter(other => other !== line)
        const after = others.find(other => { const box = other.getBoundingClientRect(); return clientY < box.top + box.height / 2 })
        if ((after ?? null) !== line.nextSibling) list.insertBefore(line, after ?? null)
      }
      list.onpointerup = list.onpointercancel = () => {
        list.onpointermove = list.onpointerup = list.onpointercancel = null
        line.classList.remove('dragged')
        const to = [...list.children].indexOf(line)
        if (to !== at) setTriggerValue('move', [at, to])
      }
    }
  })
}
