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
  const first = order.find(j => !data.same || ids[j] !== data.query_id) ?? order[0]   // the largest weight on another token
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
    data, query, key, value, bias, ids, count, d, width, products, scores, scaled, biased, weights, most, sum, difference, order, first, masked,
    name, cell, spots, size: [above + rows.length, wide], position: new Map(Array.from(ids, (id, j) => [id, j])),
    given: (j, c) => weights[j] * value[j * width + c], mixed: floats(data.mixed), joined: floats(data.joined), entering: floats(data.entering),
    projected: floats(data.projected), arriving: floats(data.arriving), before: floats(data.before), branch: floats(data.branch), after: floats(data.after),
  }
}

// What the words of a step leave open, of one key.
const factsOf = (row, j) => ({ key: row.name(row.ids[j]), score: number(row.scores[j]), scaled: number(row.scaled[j]), biased: number(row.biased[j]),
  bias: row.bias ? number(row.bias[j]) : '', power: number(Math.exp(row.biased[j] - row.most)), sum: number(row.sum), weight: percent(row.weights[j]), rank: String(row.order.indexOf(j) + 1) })
const filled = (words, facts) => words.replace(/\{(\w+)\}/g, (whole, name) => facts[name] ?? whole)
const usual = row => Math.abs(row.data.scale * Math.sqrt(row.d) - 1) < 1e-3
