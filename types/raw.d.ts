/** A file's text, put into the bundle as it is. */
declare module '*?raw' {
  const text: string
  export default text
}
