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
const percent = value => {                             // as vizkit/percent.py
  if (value < 0) return '−' + percent(-value)
  if (value > 0 && value < 1e-5) return '< 0.001 %'
  if (value > 0.999 && value < 1 - 1e-6) return '> 99.9 %'
  const below = value ? [0.1, 0.01, 0.001, 0.0001].filter(limit => value < limit).length : 0
  const steps = 10 ** (below || (value > 0.9 && value < 1 - 1e-6 ? 1 : 0))
  return Math.floor(100 * value * steps + 0.5) / steps + ' %'
}
