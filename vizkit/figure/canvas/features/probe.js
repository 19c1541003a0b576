// A linear probe on painted patches, as analysis/features/probe.py: ridge regression on cosines. `vectors`: whole numbers, so
// many `channels` to a patch; `painted`: things by patches. Of every patch its thing.

const UNIT = 32767, TIE = 1e-9
const probe = (vectors, channels, painted, ridge) => {
  const ids = [...painted.keys()], things = [...new Set(painted.values())].sort(), found = new Uint8Array(vectors.length / channels)
  const cosine = (one, other) => {
    let sum = 0
    for (let c = 0, a = one * channels, b = other * channels; c < channels; c++) sum += vectors[a + c] * vectors[b + c]
    return sum / UNIT ** 2
  }
  const rows = ids.map(one => [...ids.map(other => cosine(one, other) + (one === other ? ridge : 0)), ...things.map(thing => +(painted.get(one) === thing))])
  rows.forEach((row, at) => rows.forEach((other, below) => {   // of this matrix no pivot is zero
    const times = at === below ? 0 : other[at] / row[at]
    if (times) for (let c = at; c < row.length; c++) other[c] -= times * row[c]
  }))
  const weights = rows.map((row, at) => row.slice(ids.length).map(value => value / row[at]))
  return found.map((_, patch) => {
    const cosines = ids.map(id => cosine(id, patch)), scores = things.map((_, thing) => cosines.reduce((sum, value, at) => sum + value * weights[at][thing], 0))
    const best = Math.max(...scores)
    return things[scores.findIndex(score => score >= best - TIE)]
  })
}
