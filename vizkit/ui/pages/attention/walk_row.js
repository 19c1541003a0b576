// One query in one head of one layer: the numbers that Python sent, and every step of attention computed from them here.

const MASKED = -50                                     // Swin adds −100 to pairs of two regions, decoders −∞

function rowOf(data) {
  const query = floats(data.query), key = floats(data.key), value = floats(data.value), bias = floats(data.bias)
  const ids = new Int32Array(bytes(data.key_ids).buffer), count = ids.length
  const d = query.length, width = value.length / count, columns = data.key_grid?.[1]
  const products = j => Float64Array.from(query, (q, c) => q * key[j * d + c])
  const scores = Float64Array.from(ids, (_, j) => products(j).reduce((sum, product) => sum + product, 0))
  const scaled = scores.map(score => score * data.scale)
  const biased = bias ? scaled.map((score, j) => score + bias[j]) : scaled
  const most = biased.reduce((a, b) => Math.max(a, b), -Infinity)
  const powers = biased.map(score => Math.exp(score - most)), sum = powers.reduce((a, b) => a + b, 0)
  const weights = powers.map(power => power / sum), sent = floats(data.weights)
  const difference = weights.reduce((far, weight, j) => Math.max(far, Math.abs(weight - sent[j])), 0)
  const order = [...ids.keys()].sort((a, b) => weights[b] - weights[a])
  const masked = Array.from(ids, (_, j) => !!bias && bias[j] <= MASKED)
  const special = data.key_special.length
  const cell = id => columns && id >= special ? [Math.floor((id - special) / columns), (id - special) % columns] : null
  const name = id => id < 0 ? 'padding' : id < special ? `[${data.key_special[id]}]`
    : cell(id) ? `row ${cell(id)[0] + 1}, column ${cell(id)[1] + 1}` : `token ${id + 1}`

  // Where the keys stand in the map of the row: the rows and columns that they have, then all without a place.
  const cells = Array.from(ids, id => id < 0 ? null : cell(id))
  const ranks = axis => [...new Set(cells.filter(Boolean).map(at => at[axis]))].sort((a, b) => a - b)
  const [rows, across] = [ranks(0), ranks(1)]
  const spots = [], wide = across.length || Math.ceil(Math.sqrt(count))
  const placeless = cells.map((at, j) => at ? -1 : j).filter(j => j >= 0), above = Math.ceil(placeless.length / wide)
  placeless.forEach((j, i) => { spots[j] = [Math.floor(i / wide), i % wide] })
  cells.forEach((at, j) => { if (at) spots[j] = [above + rows.indexOf(at[0]), across.indexOf(at[1])] })
  return {
    data, query, key, value, bias, ids, count, d, width, products, scores, scaled, biased, weights, most, sum, difference, order, masked,
    name, cell, spots, size: [above + rows.length, wide], position: new Map(Array.from(ids, (id, j) => [id, j])),
    given: (j, c) => weights[j] * value[j * width + c], mixed: floats(data.mixed), joined: floats(data.joined), entering: floats(data.entering),
    projected: floats(data.projected), arriving: floats(data.arriving), before: floats(data.before), branch: floats(data.branch), after: floats(data.after),
  }
}

// ---- the steps: a title, the formula, and one sentence about this query and this key ---------------------------------------
const EXPERIMENT = 'With a switch on, the numbers are an experiment: the rest of the layer was not trained for them.'
const usual = row => Math.abs(row.data.scale * Math.sqrt(row.d) - 1) < 1e-3
const STEPS = [
  { title: 'Patch', formula: 'patch → x', say: row => `${row.data.query_special ? `${row.data.query_name} is no patch but a learned vector`
      : `The patch at ${row.data.query_name} has become a vector by embedding`}${row.data.layer ? `, changed by ${row.data.layer} layer${row.data.layer > 1 ? 's' : ''}` : ''}`
      + (row.arriving ? `; it enters this layer as x, ${row.arriving.length} numbers.` : '; this layer does not show it apart.') },
  { title: 'q and k', formula: 'q = W_Q x,  k = W_K x', say: (row, j) =>
    `The query asks with q, the key at ${row.name(row.ids[j])} answers with k: ${row.d} channels each in this head.` },
  { title: 'Score', formula: 's = q · k = Σ q_c k_c', say: (row, j) =>
    `Channel by channel q and k are multiplied, and the products add up to the score ${number(row.scores[j])}.` },
  { title: '÷ √d', formula: 's ÷ √d', skip: row => row.data.unscaled ? 'The scaling is left out by the switch.' : '', say: (row, j) => usual(row)
    ? `All scores are divided by √${row.d} = ${number(1 / row.data.scale)}, or softmax would give nearly all to a single key: ${number(row.scores[j])} becomes ${number(row.scaled[j])}.`
    : `This head multiplies all scores by its own number, ${number(row.data.scale)}: ${number(row.scores[j])} becomes ${number(row.scaled[j])}.` },
  { title: 'Bias, mask', formula: 's + b', skip: row => row.bias ? '' : 'This layer adds neither a bias for relative positions nor a mask.', say: (row, j) => {
    const hidden = row.masked.filter(Boolean).length
    const mask = hidden ? ` ${hidden} of ${row.count} keys are masked: they belong to another part of the image.` : ' No key is masked.'
    return (row.masked[j] ? 'This key is masked, so that its weight becomes 0.' : `For this pair the position adds ${number(row.bias[j])}: ${number(row.scaled[j])} becomes ${number(row.biased[j])}.`) + mask
  } },
  { title: 'Softmax', formula: 'w = exp(s) ÷ Σ exp(s)', say: (row, j) =>
    `Softmax makes weights of the scores of all ${row.count} keys, which sum to 1: this key gets ${percent(row.weights[j])}, rank ${row.order.indexOf(j) + 1}.` },
  { title: 'Values', formula: 'o = Σ w v', say: (row, j) =>
    `Every key hands over its value v times its weight, here ${percent(row.weights[j])}; the sum o, ${row.width} numbers, is the output of this head.` },
  { title: 'Heads', formula: 'z = [o₁ … o_h]', skip: row => row.joined ? '' : EXPERIMENT, say: row =>
    `The outputs of ${row.data.heads} head${row.data.heads > 1 ? 's stand side by side' : ' alone'}: ${row.joined.length} numbers; head ${row.data.head + 1} is framed.`
    + (row.entering ? ' The layer normalises or gates them before it projects.' : '') },
  { title: 'Project', formula: 'y = W_O z + b', skip: row => row.projected ? '' : EXPERIMENT, say: row =>
    `Each of the ${row.projected.length} numbers of the layer's output y is made of the numbers of all heads.` },
  { title: 'Residual', formula: 'x + y', skip: row => row.data.experiment ? EXPERIMENT : row.after ? '' : 'Nothing goes past this layer: its output stands alone.', say: row =>
    `The output${row.data.between ? ', scaled or normalised first,' : ''} is added to what went past the layer: length ${number(length(row.before), 2)} and ${number(length(row.branch), 2)} give ${number(length(row.after), 2)}.` },
]
