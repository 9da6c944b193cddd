/** The theme that comes with VitePress, in the fonts of the reader's system: nothing is asked of another server. */
import Theme from 'vitepress/theme-without-fonts'
import './style.css'

export default Theme
