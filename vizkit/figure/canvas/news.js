// A canvas is a function of its last message. What a reader sets here is told to Python and comes back in a later message, after
// values that were left since: these echoes set nothing back, and every other value is news, which wins.

const isNews = (state, name, value) => {
  const text = JSON.stringify(value), echoes = (state.echoes ??= {})[name] ?? [], at = echoes.lastIndexOf(text)
  state.echoes[name] = at < 0 ? [text] : echoes.slice(at)
  return at < 0
}
const expectEcho = (state, name, value) => { state.echoes[name].push(JSON.stringify(value)) }
