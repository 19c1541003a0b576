// What the canvases that show numbers share: how they are sent, and how they are written in little room.

const bytes = text => {                                // a loop: Uint8Array.from takes ten times as long
  const raw = atob(text), read = new Uint8Array(raw.length)
  for (let i = 0; i < raw.length; i++) read[i] = raw.charCodeAt(i)
  return read
}
const floats = text => text ? new Float32Array(bytes(text).buffer) : null
const clamp = (value, low, high) => Math.min(high, Math.max(low, value))
const largest = values => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1
const length = values => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
const number = (value, digits = 3) => !Number.isFinite(value) ? (value < 0 ? '−∞' : '∞')
  : value.toFixed(Math.abs(value) >= 100 ? 1 : digits).replace('-', '−').replace(/^−(0\.?0*)$/, '$1')
const percent = value => value >= 0.1 ? Math.round(100 * value) + ' %' : value >= 1e-5 ? Number((100 * value).toPrecision(2)) + ' %' : '0 %'
