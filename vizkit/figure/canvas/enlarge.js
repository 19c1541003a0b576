// The same picture as large as the window: how strongly the map covers it, and a border to draw across, with the picture
// alone to its left. `paint(sheet, opacity, from)` draws on any sheet, `listen(sheet)` makes it answer the pointer.
function enlarging(card, button, size, paint, listen) {
  const open = () => {
    const make = (tag, text = '', props = {}) => Object.assign(document.createElement(tag), { textContent: text }, props)
    const dialog = make('dialog'), bar = make('form'), sheet = make('canvas'), said = make('output')
    const slider = (name, value) => {
      const field = make('input', '', { type: 'range', min: 0, max: 100, value }), label = make('label', name)
      field.oninput = draw
      label.append(field); bar.append(label)
      return field
    }
    const draw = () => paint(sheet, opacity.value / 100, border.value / 100)
    const opacity = slider('Map', 100), border = slider('Original from the left', 0)
    bar.append(make('button', '✕', { type: 'button', ariaLabel: 'Close', onclick: () => dialog.close() }))
    bar.onsubmit = () => false
    sheet.style.setProperty('--ratio', size[1] / size[0])
    dialog.append(bar, sheet, said)
    dialog.onclick = event => { if (event.target === dialog) dialog.close() }   // beside the picture
    dialog.onclose = () => { dialog.remove(); card.enlarged = null; button.focus() }
    button.after(dialog)
    listen(sheet)
    card.enlarged = { draw, said }
    dialog.showModal()
    draw()
  }
  button.onclick = open
}
