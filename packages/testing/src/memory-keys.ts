// The in-memory twin of the keys of a home.
import { generateKeyPairSync } from 'node:crypto'
import type { KeyStore } from '@beaver/core'
import { type SigningKey, signingKeyOf } from '@beaver/core/journal'

export const newSigningKey = (): SigningKey => signingKeyOf(generateKeyPairSync('ed25519').privateKey)

/** The keys of a home that has none yet. */
export function memoryKeys(place = 'memory'): KeyStore {
  const keys = new Map<string, SigningKey>()
  const pins = new Map<string, string>()
  const made = (role: string): SigningKey => {
    const key = keys.get(role) ?? newSigningKey()
    keys.set(role, key)
    return key
  }
  return {
    place,
    operator: () => keys.get('operator') ?? null,
    makeOperator: () => made('operator'),
    own: made,
    putAside: (role, id) => void (keys.get(role)?.id === id && keys.delete(role)),
    pinned: (namespace) => pins.get(namespace) ?? null,
    pin: (namespace, operator) => void (pins.has(namespace) || pins.set(namespace, operator)),
  }
}
