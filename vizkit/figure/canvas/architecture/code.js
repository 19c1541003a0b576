// Code beside the tensors that its lines make: a click on a line marks its tensors, one on a tensor its line.

const TOKENS = /("""[\s\S]*?"""|f?"[^"\n]*")|(#.*)|\b(class|def|return|for|in|if|else|raise|is|not|None|self|super)\b/g

const element = (name, text, className) => {
  const made = document.createElement(name)
  if (text) made.textContent = text
  if (className) made.className = className
  return made
}

const coloured = code => {
  const lines = [element('span')]
  const add = (text, kind) => text.split('\n').forEach((piece, at) => {
    if (at) lines.push(element('span'))
    lines[lines.length - 1].append(kind ? element('i', piece, kind) : piece)
  })
  let end = 0
  for (const found of code.matchAll(TOKENS)) {
    add(code.slice(end, found.index))
    add(found[0], found[1] ? 'text' : found[2] ? 'note' : 'word')
    end = found.index + found[0].length
  }
  add(code.slice(end))
  return lines
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.code'), [pre, side] = root.children, [stage, all] = side.children
  const pictured = (made, large) => {
    const picture = element('img')
    picture.src = made.picture
    picture.alt = ''
    const shown = element(large ? 'figure' : 'button')
    shown.append(picture, element('b', made.name), element('small', large ? `${made.shape}; ${made.said}` : made.shape))
    return shown
  }
  const mark = line => {
    pre.querySelectorAll('button').forEach(each => each.setAttribute('aria-pressed', String(each.line === line)))
    all.childNodes.forEach(each => each.setAttribute('aria-pressed', String(each.line === line)))
    stage.replaceChildren(...data.made.filter(made => made.line === line).map(made => pictured(made, true)))
  }
  const clickable = (button, line) => {
    button.line = line
    button.onclick = () => { mark(line); setTriggerValue('line', line) }
    return button
  }
  const lines = new Set(data.made.map(made => made.line))
  root.setAttribute('aria-label', data.label)
  pre.replaceChildren(...coloured(data.code).map((text, at) => {
    if (!lines.has(at + 1)) { text.append('\n'); return text }
    const button = clickable(element('button'), at + 1)
    button.append(...text.childNodes)
    return button
  }))
  all.replaceChildren(...data.made.map(made => clickable(pictured(made), made.line)))
  mark(data.line)
}
