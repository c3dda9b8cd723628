// What one can do on a page without a mouse. A page says each action once, with its key, its sentence and what it
// does; the help and the palette show this list, so they never differ from what works.
import { useEffect, useRef } from 'react'
import { type Begun, pressed } from './key-press.ts'

/** Something that one can do on a page. */
export interface PageAction {
  /** The key, such as `a` or `Ctrl+k`, or two keys, such as `g t`. `null`: the action is in the palette only. */
  readonly key: string | null
  /** What it does, in one sentence without a full stop, such as "Allows the call". */
  readonly does: string
  /** It decides about something that the person should have read. The palette never offers it first. */
  readonly decides?: true
  readonly run: () => void
}

/** The actions that one part of the page has said. */
interface Layer {
  readonly place: 'page' | 'everywhere'
  current: readonly PageAction[]
}

/** In the order in which the parts came onto the page. The newest comes first if two have the same key. */
const layers: Layer[] = []

/**
 * Says what one can do while this part is on the page. A list that depends on what the person may do has only what
 * works.
 *
 * @param place `everywhere`: it is there on each page. Default: page
 */
export function useKeys(actions: readonly PageAction[], place: Layer['place'] = 'page'): void {
  const layer = useRef<Layer | null>(null)
  useEffect(() => {
    const own: Layer = { place, current: [] }
    layer.current = own
    layers.push(own)
    return () => void layers.splice(layers.indexOf(own), 1)
  }, [place])
  useEffect(() => {
    if (layer.current !== null) layer.current.current = actions
  })
}

/** An action as it is now, with where it was said. */
export interface SaidAction extends PageAction {
  readonly place: Layer['place']
}

/**
 * All actions as they are now: those of the page first, and of these the ones of the newest part. `run` does nothing if the part has gone meanwhile:
 * a list of actions that stays open must not act on what came in its place.
 */
export const actionsNow = (): readonly SaidAction[] =>
  (['page', 'everywhere'] as const).flatMap((place) =>
    layers
      .filter((layer) => layer.place === place)
      .toReversed()
      .flatMap((layer) => layer.current.map((action) => ({ ...action, place, run: runOf(layer, action) }))),
  )

const runOf =
  (layer: Layer, { does }: PageAction) =>
  (): void => {
    if (layers.includes(layer)) layer.current.find((each) => each.does === does)?.run()
  }

const offKey = 'single-keys'

/** Whether single keys act. People who speak to their computer, or whose hands shake, switch them off. */
export const singleKeys = {
  areOn: (): boolean => localStorage.getItem(offKey) !== 'off',
  set: (on: boolean): void => localStorage.setItem(offKey, on ? 'on' : 'off'),
}

/** Where letters are written, or choose. */
const writable = 'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]'

/** Listens to the keys until the function that it returns is called. The frame of the page calls it once. */
export function listenToKeys(): () => void {
  let begun: Begun | null = null
  const onKey = (event: KeyboardEvent): void => {
    const { key, ctrlKey, metaKey, altKey, repeat, defaultPrevented, timeStamp } = event
    const isTyping =
      !singleKeys.areOn() ||
      event.isComposing ||
      (event.target instanceof Element && event.target.closest(writable) !== null)
    const isInDialog = document.querySelector('dialog[open]') !== null
    const actions = actionsNow()
    const names = actions.flatMap((action) => action.key ?? [])
    const press = { key, ctrlKey, metaKey, altKey, repeat, defaultPrevented, timeStamp }
    const found = pressed({ ...press, isTyping, isInDialog }, begun, names)
    begun = found.begun
    if (found.act === null) return
    event.preventDefault()
    actions.find((action) => action.key === found.act)?.run()
  }
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)
}
