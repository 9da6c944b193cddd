/**
 * The script. It only improves pages that work without it: it renews the page while it is looked at, and gives it keys. It is written as browsers run it,
 * because nothing is built in a checkout; tests run it in a real one.
 */
export const script: string = String.raw`
const policy = globalThis.trustedTypes?.createPolicy('taskstream', { createHTML: (html) => html }) ?? { createHTML: (html) => html }
const live = document.getElementById('live')
const root = document.body.dataset.root

// Renews nodes in place: what has an id is found by it, so that focus and open details stay.
function morph(from, to) {
  if (from.nodeType !== 1) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue
    return
  }
  for (const { name } of [...from.attributes])
    if (!to.hasAttribute(name) && !(name === 'open' || name === 'aria-selected')) from.removeAttribute(name)
  for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value)
  let at = from.firstChild
  for (const next of [...to.childNodes]) {
    const known = next.id ? [...from.children].find((each) => each.id === next.id) : undefined
    if (known && known !== at) from.insertBefore(known, at)
    const mine = known ?? (at && at.nodeName === next.nodeName && !at.id && !next.id ? at : undefined)
    if (mine) {
      at = mine.nextSibling
      morph(mine, next)
    } else from.insertBefore(document.importNode(next, true), at)
  }
  while (at) {
    const gone = at
    at = at.nextSibling
    gone.remove()
  }
}

// A page that is not done goes on by itself. Without a script there is its button.
const goesOn = document.querySelector('form[data-goes-on]')
if (goesOn) setTimeout(() => goesOn.requestSubmit(), 300)
const isStill = !!document.querySelector('#done, [data-still]')

// Only the browser knows where somebody is.
const zone = document.getElementById('zone')
const here = Intl.DateTimeFormat().resolvedOptions().timeZone
if (zone && !zone.value && zone.querySelector('option[value="' + CSS.escape(here) + '"]')) zone.value = here

let tag = null
let wait = 2000
let isLive = true
let seen = Date.now()
const isBusy = () =>
  isStill || document.hidden || !isLive || document.querySelector('dialog[open]') || !getSelection().isCollapsed || document.querySelector('main :is(input, select, textarea):focus')

function say(words) {
  if (live.textContent !== words) live.textContent = words
}

async function look() {
  if (!isBusy()) {
    try {
      const answer = await fetch(location.href, { headers: tag ? { 'if-none-match': tag } : {}, cache: 'no-store', signal: AbortSignal.timeout(10000) })
      if (answer.status === 200) {
        const text = await answer.text()
        const page = new DOMParser().parseFromString(policy.createHTML(text), 'text/html')
        const main = page.getElementById('main')
        if (main && !isBusy()) {
          tag = answer.headers.get('etag')
          morph(document.getElementById('main'), main)
          mark()
          wait = 2000
        }
      } else if (answer.status === 304) wait = Math.min(10000, wait + 2000)
      else throw new Error(String(answer.status))
      seen = Date.now()
      say('live')
    } catch {
      say('not connected for ' + Math.round((Date.now() - seen) / 1000) + ' s')
      wait = Math.min(10000, wait + 2000)
    }
  } else if (!isLive) say('stopped: l goes on')
  setTimeout(look, wait)
}
live.hidden = false
say('live')
setTimeout(look, wait)
document.addEventListener('visibilitychange', () => { wait = 2000 })

// Keys. None works inside a field or with a modifier, and all can be switched off.
const isOff = () => { try { return localStorage.getItem('taskstream-keys') === 'off' } catch { return false } }
let chosen = null
let going = false
const rows = () => [...document.querySelectorAll('main tbody tr')]
function mark() {
  for (const row of document.querySelectorAll('tr[aria-selected]')) if (row.id !== chosen) row.removeAttribute('aria-selected')
  if (chosen) document.getElementById(chosen)?.setAttribute('aria-selected', 'true')
}
function move(by) {
  const all = rows()
  if (all.length === 0) return
  const at = all.findIndex((row) => row.id === chosen)
  const row = all[Math.max(0, Math.min(all.length - 1, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))]
  chosen = row.id
  mark()
  ;(row.querySelector('a') ?? row).focus()
  row.scrollIntoView({ block: 'nearest' })
}
function help() {
  const dialog = document.getElementById('keys') ?? document.body.appendChild(document.createElement('dialog'))
  if (dialog.open) return dialog.close()
  dialog.id = 'keys'
  dialog.setAttribute('aria-label', 'Keys')
  const lines = [['/', 'find'], ['j k', 'next and previous row'], ['Enter', 'open it'], ['r', 'redrive: shows what it would do'], ['p', 'pause or resume: goes to its form'], ['l', 'stop and go on'], ['y', 'copy the command'], ['?', 'this list'],
    ...[...document.querySelectorAll('a[data-key]')].map((a) => ['g ' + a.dataset.key, a.textContent])]
  const list = document.createElement('dl')
  for (const [key, words] of lines) {
    const pair = list.appendChild(document.createElement('div'))
    pair.appendChild(document.createElement('dt')).appendChild(document.createElement('kbd')).textContent = key
    pair.appendChild(document.createElement('dd')).textContent = words
  }
  const off = document.createElement('button')
  off.textContent = isOff() ? 'Switch keys on' : 'Switch keys off'
  off.onclick = () => { try { localStorage.setItem('taskstream-keys', isOff() ? 'on' : 'off') } catch {} dialog.close() }
  const close = document.createElement('button')
  close.textContent = 'Close'
  close.onclick = () => dialog.close()
  const heading = document.createElement('h2')
  heading.textContent = 'Keys'
  dialog.replaceChildren(heading, list, off, ' ', close)
  dialog.showModal()
}
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest('input, select, textarea, dialog')) return
  const { key } = event
  if (key === '?') return help()
  if (isOff()) return
  if (going) {
    going = false
    const to = document.querySelector('a[data-key="' + CSS.escape(key) + '"]')
    if (to) location.assign(to.href)
    return
  }
  if (key === 'g') { going = true; setTimeout(() => { going = false }, 1500) }
  else if (key === '/') { event.preventDefault(); document.getElementById('q').focus() }
  else if (key === 'j') move(1)
  else if (key === 'k') move(-1)
  else if (key === 'l') { isLive = !isLive; wait = 2000; say(isLive ? 'live' : 'stopped: l goes on') }
  else if (key === 'r') document.querySelector('form[data-deed=redrive] button')?.click()
  else if (key === 'p') { const pause = document.querySelector('form:is([action$="/pause"], [action$="/resume"]) :is(input, button)'); if (pause) { event.preventDefault(); pause.focus() } }
  else if (key === 'y') navigator.clipboard?.writeText(document.querySelector('.command')?.textContent ?? '').then(() => say('copied'), () => {})
})
`.trim()
