
// A page of its own: one layer, head and query for all models, and every card drawn by `look`, which stands above.
async function show(place, shell, book) {
  const root = place.attachShadow({ mode: 'open' })
  const element = (tag, text = '', props = {}) => Object.assign(document.createElement(tag), { textContent: text }, props)
  const depth = Math.max(...book.models.map(model => model.layers.length))
  const heads = Math.max(...book.models.flatMap(model => model.layers.map(layer => layer.heads ? layer.heads.count : 0)))
  const special = [...new Set(book.models.flatMap(model => model.layers.flatMap(layer => layer.query_special)))]

  const layerField = element('input', '', { type: 'range', min: 1, max: depth, value: depth, disabled: depth < 2 })
  const headField = element('select'), queryField = element('select'), layerSaid = element('b')
  for (const name of ['mean', ...Array.from({ length: heads }, (_, i) => String(i + 1))]) headField.append(element('option', name))
  headField.disabled = heads < 1
  for (const name of ['patch', ...special]) queryField.append(element('option', name === 'patch' ? name : `[${name}]`, { value: name }))
  const form = element('form')
  for (const [name, ...fields] of [['Layer', layerField, layerSaid], ['Head', headField], ['Query', queryField]]) {
    const label = element('label', name); label.append(...fields); form.append(label)
  }
  form.onsubmit = () => false
  const cards = element('div', '', { className: 'cards' })
  root.append(element('style', shell.own), form, cards)

  const sections = book.models.map(model => {
    const section = element('section'), inner = element('div'), line = element('small')
    const shadow = inner.attachShadow({ mode: 'open' })      // the card's style is made for an element of its own
    shadow.append(element('style', shell.css)); shadow.append(document.createRange().createContextualFragment(shell.card))
    section.append(element('h3', model.name), line, inner,
      element('small', model.proof, { className: model.passed ? '' : 'failed' }))
    cards.append(section)
    return { model, shadow, line }
  })

  const opened = new Map()                                   // inflated once; a few MB for all layers
  const inflate = async values => {
    if (!opened.has(values)) {
      const stream = new Blob([bytes(values.levels)]).stream().pipeThrough(new DecompressionStream('deflate'))
      const levels = new Uint8Array(await new Response(stream).arrayBuffer())
      opened.set(values, { levels, largest: new Float32Array(bytes(values.largest).buffer) })
    }
    return opened.get(values)
  }
  const weightsOf = async (layer, head) => {                 // sixteen bits of the largest, as the canvas wants them
    const alone = head > 0 && layer.heads, values = alone ? layer.heads : layer.mean
    const { levels, largest } = await inflate(values)
    const index = alone ? Math.min(head, values.count) - 1 : 0
    const rows = largest.length / values.count, keys = layer.keys
    const tops = largest.subarray(index * rows, (index + 1) * rows), top = tops.reduce((a, b) => Math.max(a, b), 0) || 1
    const weights = new Uint16Array(rows * keys)
    for (let row = 0; row < rows; row++) {
      const unit = tops[row] / top * 65535 / values.steps, from = (index * rows + row) * keys
      for (let j = 0; j < keys; j++) weights[row * keys + j] = Math.round(levels[from + j] * unit)
    }
    return { weights, step: top / 65535 }
  }

  let point = [0.5, 0.5], turn = 0
  const draw = async () => {
    const mine = ++turn, layerNumber = Number(layerField.value), head = headField.value === 'mean' ? 0 : Number(headField.value)
    layerSaid.textContent = `${layerNumber} of ${depth}`
    const chosen = queryField.value === 'patch' ? null : queryField.value
    for (const { model, shadow, line } of sections) {
      const number = Math.min(layerNumber, model.layers.length), layer = model.layers[number - 1]
      if (!layer.weights || layer.head !== head) {
        const made = await weightsOf(layer, head)
        if (mine !== turn) return                            // another layer was chosen meanwhile
        Object.assign(layer, made, { head })
      }
      const rounded = head > 0 && layer.heads ? ` · weights in steps of 1/${layer.heads.steps} of the row's largest` : ''
      const which = layer.kind ? '' : head > 0 && layer.heads ? ` · head ${Math.min(head, layer.heads.count)} of ${layer.heads.count}`
        : model.steps || !layer.mean ? ' · mean of the heads' : ' · mean of the heads; single heads would not fit'
      line.textContent = `${layer.name} · layer ${number} of ${model.layers.length}${which}${rounded}`
      look({
        data: {
          ...layer, offset: 0, verb: '', show_grid: true, image: model.image, size: model.size, box: model.box,
          classes: model.classes, colours: book.colours, floor: book.floor, ceiling: book.ceiling, point, special: chosen,
          epoch: JSON.stringify([point, chosen]), label: `Attention of ${model.name}. Use the arrow keys to move the query.`,
        },
        parentElement: shadow,
        setStateValue: (_, value) => { point = value; queryField.value = 'patch'; draw() },
      })
    }
  }
  layerField.oninput = headField.onchange = queryField.onchange = draw
  await draw()
}
