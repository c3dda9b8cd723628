/** The time of an event (RFC 3339) as clients of OpenAI read it: seconds since 1970. */
export const createdAt = (time: string): number => Math.floor(Date.parse(time) / 1_000)
