// A model as boxes and arrows from top to bottom. A box opens to all its numbers; nothing here asks Python.

const element = (name, text, className) => {
  const made = document.createElement(name)
  if (text) made.textContent = text
  if (className) made.className = className
  return made
}

const box = row => {
  const details = element('details'), summary = element('summary'), facts = element('dl')
  const name = element('span', '', 'name')
  name.append(element('b', row.kind))
  if (row.times) name.append(element('em', row.times))
  if (row.streams) name.append(element('em', row.streams, 'streams'))
  name.append(element('small', row.path))
  const bar = element('span', '', 'bar')
  bar.setAttribute('aria-hidden', 'true')
  bar.style.setProperty('--share', 100 * row.share + '%')
  bar.style.setProperty('--products', 100 * row.products + '%')
  bar.append(element('i'), element('i'))
  summary.append(name, element('span', row.tokens, 'tokens'), bar, element('span', row.cost, 'cost'))
  row.facts.forEach(([what, value]) => facts.append(element('dt', what), element('dd', value)))
  if (row.blocks.length) facts.append(element('dt', 'blocks'), element('dd', row.blocks.join(', ')))
  details.append(summary, facts)
  return details
}

export default function ({ data, parentElement }) {
  const list = parentElement.querySelector('ol')
  const text = JSON.stringify(data)
  if (list.dataset.text === text) return               // a rerun leaves opened boxes open
  list.dataset.text = text
  list.setAttribute('aria-label', data.label)
  list.replaceChildren(...data.rows.map(row => {
    const item = element('li', '', row.kind ? 'block' : row.changed ? 'arrow changed' : 'arrow')
    item.append(row.kind ? box(row) : element('span', row.arrow))
    return item
  }))
}
