// A picture of a report on the whole screen, and back.
addEventListener('click', ({ target }) => {
  if (!target.matches('.enlarge')) return
  document.fullscreenElement ? document.exitFullscreen() : target.closest('article').requestFullscreen()
})
addEventListener('fullscreenchange', () => document.querySelectorAll('.enlarge').forEach(button => {
  button.textContent = button.closest('article') === document.fullscreenElement ? 'Back' : 'Enlarge'
}))
