import{j as t}from"./react-fe9d36a5.js";import{u as s,g as i,e as r}from"./now-6b510973.js";function a({at:e}){const o=s();return t.jsx("time",{dateTime:e,title:r(e),children:i(e,o)})}export{a as A};
