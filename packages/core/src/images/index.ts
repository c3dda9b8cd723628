// Images in messages.
export { imageLimits, type ImagePart, imagePart, imageText, imageTokens, imageTypes } from './image-part.ts'
export { type ImageHeader, readImageHeader } from './image-header.ts'
